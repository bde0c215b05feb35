# A rank of bench/recovery.py: prints its number and pids, then sleeps.
echo "$TORCHELASTIC_RESTART_COUNT $RANK $$ $PPID"
exec sleep 1000
