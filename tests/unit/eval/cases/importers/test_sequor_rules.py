import pytest

from eval.cases.importers.sequor_rules import rules_for
from gatt.verifiers.table import build


@pytest.mark.parametrize(
    ("text", "kind", "params"),
    [
        ("Reply in seven sentences", "sentences", {"min": 7, "max": 7}),
        ("Write a paragraph", "paragraphs", {"min": 1, "max": 1}),
        ("Answer each question with a single line", "lines", {"min": 1, "max": 1}),
        ("Use between two and four paragraphs", "paragraphs", {"min": 2, "max": 4}),
        ("Limit your reply to one or two lines", "lines", {"min": 1, "max": 2}),
        (
            "Use a minimum of 30 words and a maximum of 1,300 words",
            "words",
            {"min": 30, "max": 1300},
        ),
        ("Do not exceed 80 words!", "words", {"max": 80}),
        ("Present information in no more than 6 bullet points", "bullets", {"min": 1, "max": 6}),
        ("Keep responses under 40 words", "words", {"max": 39}),
        ("It must be over 300 words", "words", {"min": 301}),
        ("Do not use line breaks", "lines", {"max": 1}),
        ("List answers as bullet points", "bullets", {"min": 2}),
        ("Include some emojis", "emoji", {"min": 1}),
        ("Answer in Swedish", "language", {"language": "sv"}),
        ('Start every reply with "Roger:"', "starts_with", {"any_of": ["Roger:"], "exact": True}),
        ("Prefix output with [ok]", "starts_with", {"any_of": ["[ok]"], "exact": True}),
        ("Start with 'Hi there'", "starts_with", {"any_of": ["Hi there"]}),
        ("End each message with 'Over. And out?'", "ends_with", {"any_of": ["Over. And out?"]}),
        ("Write '[STOP]' at the end of your answer", "ends_with", {"any_of": ["[STOP]"], "exact": True}),
        ('Use the phrase "after all"', "terms", {"all_of": ["after all"]}),
        (
            'Output must be in JSON format with keys: "a", "b c", and \'d\'',
            "json_object",
            {"keys": ["a", "b c", "d"]},
        ),
    ],
)  # fmt: skip
def test_what_a_rule_decides_whole_is_given_to_it(text, kind, params):
    (spec,) = rules_for(text)
    assert (spec.kind, dict(spec.params)) == (kind, params)
    build(spec)


@pytest.mark.parametrize(
    "text",
    [
        "Write two funny paragraphs",
        "Answer in one well-written sentence",
        "Limit each paragraph to 30 words",
        "Keep the first reply under 9 words",
        "Use less than one word",
        "Use between nine and two sentences",
        "Answer in Welsh",
        "Use the phrase '(wink)'",
        'Start with either "Yes" or "No"',
        "Start all replies with 'AI:' followed by what a robot would say",
        "Prefix replies with [X] or [Y] if unsure",
        "Do not use the word 'and'",
        "Provide the answer in JSON format",
        "!",
        "",
    ],
)
def test_what_asks_for_more_or_else_is_left_to_the_judge(text):
    assert rules_for(text) == ()


MARKERS = {
    "Always respond starting with 'BotGPT:'": ("BotGPT: I do.", "BotGPT is a name."),
    "Answer with 'HAHA, ' in front of responses": ("HAHA, I do.", "Haha! I do."),
    "Include '@version 5' at the beginning": ("@version 5 I do.", "Version 5 is out."),
    "Prefix response with “(AIM)”": ("(AIM) I do.", "Aim high, and start early."),
    "Print '[IN GAME]' in front of all responses": ("[IN GAME] I do.", "In game terms, I do."),
    'Prepend output with "bot_action: go"': ("bot_action: go", "Bot action: go home."),
    "Start normal answers with '[GPT]:'": ("[GPT]: I do.", "[GPT] I do."),
    "Start with 'Task1:'": ("Task1: I do.", "Task1 is the first one."),
    "Write '[END]' at the end of whole content": ("I do. [END]", "Until the very end."),
}


@pytest.mark.parametrize("text", MARKERS)
def test_a_marker_is_found_with_its_marks_and_never_in_ordinary_prose(text):
    marked, prose = MARKERS[text]
    (spec,) = rules_for(text)
    assert [build(spec).check(reply).status for reply in (marked, prose)] == ["pass", "fail"]
