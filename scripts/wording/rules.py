"""The rules for sentences, test names and commit subjects. CONTRIBUTING.md explains them to writers."""
import re

import extract

PRONOUNS = ("it", "that", "which", "what", "who", "one", "those", "such")

RULES = []  # (name, advice, pattern, exception)


def rule(name, advice, pattern, unless=None):
    RULES.append((name, advice, re.compile(pattern), re.compile(unless) if unless else None))


# The longest sentence of each kind, in words.
TOO_LONG = {"doc": 36, "cell": 36, "comment": 36, "message": 30, "heading": 14}

FUNCTION_WORD = r"(?:that|which|and|or|on|in|for|with|below|so|where|when|as|to|by|is|are|then|until|at|from|than|but|first|here|there)"

rule("no-noun", "'is not a X', 'unknown X', 'missing X', 'requires X'",
     r"\b(is|are|was|were|names|knows|takes?|gives?|asks?|tells?|says?|sees?|wants?) (no|none)\b"
     r"(?! (longer|more|less|fewer|effect|different|matter|need|way to))"
     r"|\b(is|are|takes?|gives?|asks?|tells?|says?|wants?) nothing\b|\b(has|have|had) none\b|\bsays not\b|\bno way of\b"
     r"|\bfor what is no(ne|t)\b|^None (of|where|without|is)\b|\bnone (that|is|with|where|of)\b",
     unless=r"[Tt]here (is|are|was|were|be) (no|none|nothing)|nothing (else|to do)")
rule("riddle", "name the thing: 'a rank that', 'users', 'the file'",
     r"\b([Nn]obody|[Ww]hoever)\b|^(Who|Whom|Whose) [a-z]+"
     r"|\b(and|but|or|nor|for|by|of|to|from|than|with) (who|whom)\b|\bthose (are|is)\b[^.;]*\bthat\b"
     r"|\b(is|are) what\b|\bthat is that\b|\bones? (that|with|without|from|who|which)\b|\b(is|as|and|by|of|with) one of\b(?! (the|these|those|them|its|two|several))",
     unless=r"\?$|\b(every|each|any|some|no) ?one\b|[Tt]he (one|ones) (that|with|of)|\bonly one\b|at least one")
rule("what-clause", "start with a noun: 'Files that...', 'The ranks...', 'The reason...'",
     r"^(What|That|Which) (?!(is|are|does|do|should|can|happens|to|number|means|follows|if)\b)[a-z]+ [^?]*$"
     r"|\b(of|from|by|than|for|with) what\b",
     unless=r"\?|^That (is|means|way|makes)\b|\bof what (is|you)\b")
rule("told", "reports, prints, shows, states, specifies; 'is reported'",
     r"\b(is|are|was|were|be|been) (told|said)\b(?! to\b)|\btells?\b(?! (whether|apart|the difference|it apart|them apart|[A-Z]))"
     r"|\bsays? (so|of|what|which|nothing|how|where|who|whose|why|when|it|not|another|something)\b"
     r"|\b(says?|tells?|said) by\b|\bspeaks? (of|for|with)\b|\bhears?\b|\btold of\b",
     unless=r"\b([Ss]pecification|[Ss]tandard|[Mm]anual|[Dd]ocument\w*|[Mm]essage|RFC|POSIX|man page|[Ee]rror) (that )?(says?|tells?)")
rule("odd-verb", "is, appears, follows, precedes; is removed; requires; reads; applies",
     r"\b(stands?|stood)\b(?! (for|in for|still|alone|out))|\bmends?\b|\bheeds?\b|\bwants\b"
     r"|\bcomes? to it\b|\bgo(es)? by itself\b|\bgoes (there|too|with)\b"
     r"|(?<![Oo]ne )(?<! a )(?<!each )\bpass(es)? over\b|\blies? (in|beside|behind|below|there|on|at)\b|\bmeets? (the|a|no|another|it)\b"
     r"|\b(is|are|was|were) looked (?!up)|\bwhat holds\b|\bleads? to (it|the host|that host|hosts)\b|\bjudge[sd]?\b")
rule("old-word", "after, next to, in addition to, again, except, if",
     r"\b(anew|afresh|beside|but for|save for|lest|for want of|thereof|wherein|whereby|hitherto)\b"
     r"|(?<!is )(?<!are )(?<!far )(?<!falls )(?<!left )(?<!be )(?<!stays )(?<! s )\b[Bb]ehind\b(?! (the median|a proxy|NAT|a firewall))"
     r"|, should (it|that|they|one|a|an|the|this)\b")
rule("of-its-own", "'its own X', 'a separate X'; 'dlaunch X' instead of 'X of dlaunch's'",
     r"\bof (its|their|your|one's|his|our|her) own\b(?! (?!" + FUNCTION_WORD + r"\b)[a-z]+)|\bof (ours|theirs|yours)\b"
     r"|\bof (dlaunch|mpirun|msrun|torchrun|deepspeed|srun|Slurm|MPI|Horovod|PyTorch|DeepSpeed|LSF|MindSpore|Ascend|HCCL|accelerate|the user|the program|the rank|the launcher|the agent|Python|libpmix|libssh|ssh)'s"
     r"(?=[,.;:)]|$| " + FUNCTION_WORD + r"\b| own)")
rule("so-many", "give the number, the option or the unit",
     r"\bso (many|much|few)\b(?! that)|\bfor so long\b|\bthat (many|much) (more |bytes|ranks|hosts)"
     r"|\bas (many|few) (ranks|hosts|processes|slots|more|less)\b(?! as)|\bwhatever (is|was)\b")
rule("is-to", "must, should, will; 'to X'",
     r"\b(is|are|was|were) to (be|have|get|know|come|meet|sign|ask|save|end|start|run|go|stay|write|read|use|take|give|hold|stand|send)\b",
     unless=r"\b(goal|aim|purpose|idea|point|way|job|use|simplest|best|safest|option|task|trick|rule|alternative|next|step) (is|was) to")
rule("where-if", "'if X' after the main clause; or 'in X', 'when X'",
     r"^Where (?!(is|are|was|were|to|should|does|do|can|would)\b)[a-z]+ [^?]*$"
     r"|^There (?!(is|are|was|were|may|can|will|must|has|have|should|would)\b)[a-z]+"
     r"|[,;:] (also |and |or |else |but |even )?where (it|its|there|that|they|no|none|a|an|one|some|the|this|these|those|all|every|each)\b"
     r"|\b(also|only|even|but|except|else|so) where\b|\bas where\b",
     unless=r"\?$")
rule("inverted", "subject, verb, object",
     r"^(Of|From|To|By|Behind|Into) (a|an|the|those|each|its|one|these|other|all|which|every|such|some) [^,]{2,60} (is|are|has|have|was|were|goes|comes|gets|may|must|does|do) (?![^,]*,)"
     r"|^(So|Nor|Neither|Thus|Not) (is|are|does|do|has|have|was|were|can|may|it is)\b|, (and )?so (is|are|does|do|has|have|was|were|may|must|will) (?!that)[a-z]+"
     r"|, nor (is|are|does|do|has|have)\b|\bis it (that|who)\b|\bbut not (of|by|in|with) (which|what|whom)\b")
rule("a-host-a-line", "'per' or 'each': one line per host",
     r"\b([Oo]ne|two|an?|[A-Z]?\d+|[KMG]iB|some|few|most) (\w+ )?(link|lines?|faults?|hosts?|threads?|process|sockets?|objects?|MiB|MB|KiB|bytes?|agents?|rows?|groups?|tests?|directory|entry) an? (host|line|rank|node|round|job|run|file|step|program|stream|thread)\b"
     r"|, (a|an) (line|row|word|group|name|byte|file) each\b|^(A|An) [a-z]+ (a|an) [a-z]+[.:,]")
rule("bare-possessive", "name the noun: 'the option of another launcher', 'the launcher's process'",
     r"(?<!')\b(?!(it|that|what|there|here|let|one|else)'s)[A-Za-z]+'s(?=[.,;:)]|$| (and|or|that|is|are|which|too|as|of)\b)",
     unless=r"\b(do|don|can|won|isn|aren|let|man|driver|bachelor|master)'s\b")
rule("private-word", "sample, snapshot; idle, not scheduled; machine, environment; start",
     r"\b([Aa]|[Oo]ne|[Ee]ach|[Ee]very|this|[Tt]he (last|next|first|same)) look\b|\blooks? at all ranks\b|\bat rest\b|\bits rest\b|\bits begin\b"
     r"|\b[Tt]he place (says|offers|tells|has|that started)\b|\bpictures? of (stacks|ranks)\b|\bthe same picture\b|\blast words\b|\bout of luck\b")
rule("nothing-but", "say what it does: 'only X'; 'all processes of the job have exited'",
     r"\b(is|are|does|do|has|have|needs?|takes?|reads?|told|asks?) (nothing|none) (but|except|than|beside)\b|(?<!knows )\bnothing (of (it|the|this|what|its|that)|but)\b")

VAGUE = set("it its they them their that those these this which what who whose whom one ones none nobody so such "
            "others another nothing something".split())


def check(kind, sentence):
    """Yields (rule, advice) for each rule that a sentence breaks."""
    count = extract.words(sentence)
    if len(count) < 4:
        return
    text = re.sub(r"`[^`]*`", "X", sentence)
    text = re.sub(r"'[^' ]+'", "X", text) if kind == "doc" else text
    if len(count) > TOO_LONG[kind]:
        yield "long", "%d words, at most %d: one idea a sentence, or a list" % (len(count), TOO_LONG[kind])
    vague = [word for word in count if word.lower() in VAGUE]
    if len(count) >= 9 and len(vague) >= 4 and len(vague) / len(count) >= 0.27:
        yield "vague", "name the things: " + ", ".join(vague)
    for name, advice, pattern, unless in RULES:
        if pattern.search(text) and not (unless and unless.search(text)):
            yield name, advice


TEST_NAME = re.compile(
    r"def test_(it|they|who|what|whoever|that|those|one|nobody|none|all|its|another|any|other|others|there)_\w+"
    r"|\bTEST(?:_F|_P)?\(\w+, (?:It|They|Who|What|Whoever|That|Those|One|Nobody|None|All|Another|Others?|There)[A-Z]\w+")
TEST_NAME_ADVICE = "name the subject and its behaviour: RejectsMalformedSpawnRequest, test_cgroup_kill_stops_a_fork_loop"

LONGEST_SUBJECT = 72
VERBS = """Accept Add Build Change Check Correct Document Fix Format Generate Install Keep Limit Lower Make Measure Merge
Move Print Raise Read Reject Remove Rename Replace Report Require Revert Reword Rewrite Run Send Shorten Show Simplify Split
Start Stop Test Update Use Wait Write""".split()


def check_commit(subject, body):
    """Yields (rule, advice) for a commit message."""
    if len(subject) > LONGEST_SUBJECT:
        yield "commit-long", "%d characters, at most %d: the reason belongs into the body" % (len(subject), LONGEST_SUBJECT)
    if subject.split(" ")[0] not in VERBS:
        yield "commit-verb", "start with an imperative verb of change: " + ", ".join(VERBS)
    if not body.strip():
        yield "commit-body", "give the reason in the body"
