"""Tokens and sentences of a text."""

import unicodedata

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sklearn_crcrf.text import find_sentences, find_tokens, split_tokens
from sklearn_crcrf.text.tokens import BLANKS, TOKENIZERS

# What rules are about, and what normal forms change.
PIECES = [
    *"aAnNtTsSeéE\u0301\u0303ñ1 8.,:/'\u2019-@&!?*\"()\n\r\t",
    *"\u200d\u200b\u00ad\ufe0f\u20e3👩👍\U0001f3fd🇩🇪한가각ᄀ\u1161\u11a8\u1160猫\u0958ä=≠\u0338\u037e",
    *["n't", "'s", "'88", "Dr.", "No.", "www.", "http://", "U.S.", "qu'", "l'", " 5", "..", "É."],
]
texts = st.lists(st.sampled_from(PIECES) | st.characters(), max_size=25).map("".join)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Ann sings.", ["Ann", "sings", "."]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        ("cafe\u0301 🙂!", ["cafe\u0301", "🙂", "!"]),
        ("שלום עולם", ["שלום", "עולם"]),
        (" \t ", []),
        ("נמ\u200cשמ", ["נמ\u200cשמ"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),  # noqa: RUF001
        ("Donau\u00addampf 8\u00ad", ["Donau\u00addampf", "8\u00ad"]),
        ("I \u2764\ufe0f it", ["I", "\u2764\ufe0f", "it"]),
        ("👨\u200d👩\u200d👧👍\U0001f3fd!", ["👨\u200d👩\u200d👧", "👍\U0001f3fd", "!"]),
        ("\U0001f3fd a\U0001f3fd", ["\U0001f3fd", "a", "\U0001f3fd"]),
        ("🇩🇪🇫🇷 🇩", ["🇩🇪", "🇫🇷", "🇩"]),
        ("\ufeffHello \u200e(\u200fa)", ["\ufeffHello", "\u200e(\u200f", "a", ")"]),
        ("a \u200d \u0301 \u00ad", ["a"]),
        ("คน\u200bดี", ["คน", "ดี"]),
        ("1\ufe0f\u20e3 e\u0301-e\u0301", ["1\ufe0f\u20e3", "e\u0301-e\u0301"]),
        ("a\ue000 \ue001", ["a", "\ue000", "\ue001"]),
        ("a\0b \x01 \u3164 c\n", ["a", "b", "c"]),
        # Numbers
        ("8,44 3.5 % 1.000,50€ 10:30, 3/21/2008!", "8,44|3.5|%|1.000,50|€|10:30|,|3/21/2008|!"),
        ("1, 2,b a,3 -5 x/y", "1|,|2|,|b|a|,|3|-|5|x|/|y"),
        # Apostrophes
        ("'88 \u201988s '88' '888 'a'", "'88|\u201988s|'|88|'|'|888|'|a|'"),
        ("Ann's we're he'll've I\u2019m", "Ann|'s|we|'re|he|'ll|'ve|I|\u2019m"),
        ("don't DON'T isn\u2019t nt n'ts", "do|n't|DO|N'T|is|n\u2019t|nt|n'|ts"),
        ("O'Brien rock'n'roll dogs' 'tis", "O'Brien|rock'n'roll|dogs|'|'tis"),
        ("l'homme d'Ivoire qu'il dell'arte all's", "l'|homme|d'|Ivoire|qu'|il|dell'|arte|all|'s"),
        ("'t Hof 's avonds 's-Gravenhage 'quoted'", "'t|Hof|'s|avonds|'s-Gravenhage|'|quoted|'"),
        ("απ' όλα, γι\u2019 αυτό παρ' ν' Απ'", "απ'|όλα|,|γι\u2019|αυτό|παρ'|ν'|Απ'"),  # noqa: RUF001
        ("Γ' τάξη 'λέξη' 'Α' καλός' σ'αυτό", "Γ'|τάξη|'|λέξη|'|'|Α|'|καλός|'|σ'αυτό"),  # noqa: RUF001
        ("'π' \u2018Β\u2019 \u2019στ\u2019", "'|π|'|\u2018|Β|\u2019|\u2019|στ|\u2019"),  # noqa: RUF001
        # Abbreviations
        ("Dr. No met J. É. Smith. B.", "Dr.|No|met|J.|É.|Smith|.|B|."),
        ("the U.S., e.g. z.B. U.S.A p.m.", "the|U.S.|,|e.g.|z.B.|U.S.A|p.m."),
        ("Jan. 5, No. 7, Jan. Ann, no. etc.", "Jan.|5|,|No.|7|,|Jan|.|Ann|,|no|.|etc|."),
        ("Inc., (etc.) Plan B.; etc.", "Inc.|,|(|etc|.|)|Plan|B.|;|etc|."),
        ("Dr.\nNo", "Dr|.|No"),
        # Addresses, and what touches
        ("www.a.com/b?c=d. http://a.b/, a.b@c.org", "www.a.com/b?c=d|.|http://a.b/|,|a.b@c.org"),
        ("@ann #tag AT&T a&b foo_bar C++", "@|ann|#|tag|AT&T|a|&|b|foo_bar|C|+|+"),
        ("wait... what?! -- ``yes'' !!!", "wait|...|what|?|!|--|``|yes|''|!!!"),
    ],
)
def test_words(text, tokens):
    assert split_tokens(text) == (tokens.split("|") if isinstance(tokens, str) else tokens)


def test_characters():
    text = "e\u0301 👩\u200d💻猫\u1112\u1161\u11ab\u1112🇩🇪"
    parts = ["e\u0301", "👩\u200d💻", "猫", "\u1112\u1161\u11ab", "\u1112", "🇩🇪"]
    assert split_tokens(text, "characters") == parts


def is_seen(character):
    return unicodedata.category(character)[0] in "LNPS" and character not in BLANKS


@given(texts, st.sampled_from(TOKENIZERS))
def test_tokens_are_the_parts_of_the_text_that_can_be_seen(text, tokenizer):
    offsets = find_tokens(text, tokenizer)
    tokens = [text[start:end] for start, end in offsets]
    assert tokens == split_tokens(text, tokenizer)
    assert (np.diff(offsets, axis=1) > 0).all() and (offsets[1:, 0] >= offsets[:-1, 1]).all()
    for token in tokens:
        assert not {unicodedata.category(c) for c in token} <= {"Cc", "Cf", "Mn", "Me", "Mc"}
        assert not any(c.isspace() for c in token)
    assert [c for token in tokens for c in token if is_seen(c)] == [*filter(is_seen, text)]


@given(texts, st.sampled_from(TOKENIZERS))
@example("É. a n\u0303't ≠==", "words")
@example("www.Àa http://=≠b", "words")
@example("A&Ù a.한.. 한. a", "words")
@example("≠a. 5 ≠n'ta ≠'s'", "words")
@example("각a\u200d한", "characters")
def test_normal_forms_agree(text, tokenizer):
    def composed(tokens):
        return [unicodedata.normalize("NFC", token) for token in tokens]

    both = [unicodedata.normalize(form, text) for form in ("NFC", "NFD")]
    assert composed(split_tokens(both[0], tokenizer)) == composed(split_tokens(both[1], tokenizer))
    sentences = [
        composed(form[start:end] for start, end in find_sentences(form, "rule")) for form in both
    ]
    assert sentences[0] == sentences[1]


@pytest.mark.parametrize("part", ["\u0301", "a+", ".", ". ", "www.", "n't", "a.", "1,", "(", "ll'"])
def test_time_is_linear_also_for_hostile_text(part):
    text = part * (200_000 // len(part))
    for tokenizer in TOKENIZERS:
        find_tokens(text, tokenizer)
    find_sentences(text, "rule")


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Ann sings. Bob!  Who? no", "Ann sings.|Bob!|Who? no"),
        ('"He is here." (Then.) Now', '"He is here."|(Then.)|Now'),
        (
            "Dr. No and J. Bond (e.g. U.S. spies) left. A",
            "Dr. No and J. Bond (e.g. U.S. spies) left.|A",
        ),
        ("On May 3. Ann left. In 2008. Yes", "On May 3. Ann left.|In 2008.|Yes"),
        ("one\nline. Two\r\n \r\nThree\n\nFour", "one\nline.|Two|Three|Four"),
        ("你好。“再见\uff01”好", "你好。|“再见\uff01”|好"),
        ("Wait... what? Wait... What", "Wait... what?|Wait...|What"),
        ("hard\r\nwrapped\rline\r\n\r\nTwo", "hard\r\nwrapped\rline|Two"),
        (" ", ""),
        ("", ""),
    ],
)
def test_sentences_by_the_rule(text, sentences):
    places = find_sentences(text, "rule").tolist()
    found = [text[start:end].strip() for start, end in places]
    assert [*filter(None, found)] == [*filter(None, (sentences or "").split("|"))]


def test_sentences_of_lines():
    text = "a b\r\nc\rd\n\ne\u2028f"
    found = [text[start:end] for start, end in find_sentences(text).tolist()]
    assert found == ["a b", "c", "d", "e\u2028f"]


def test_callables():
    text = "to be or"
    assert find_tokens(text, str.split).tolist() == [[0, 2], [3, 5], [6, 8]]
    assert find_tokens(text, lambda text: [(0, 2), (3, 5)]).tolist() == [[0, 2], [3, 5]]
    assert find_sentences(text, lambda text: ["to be"]).tolist() == [[0, 5]]
    with pytest.raises(ValueError, match="tokenizer: token 0, 'no', is not in the text"):
        find_tokens(text, lambda text: ["no"])
    with pytest.raises(ValueError, match=r"sentences: .* is empty, overlaps"):
        find_sentences(text, lambda text: [(0, 3), (2, 5)])


def test_names_of_rules():
    with pytest.raises(ValueError, match="tokenizer must be one of words, characters, got 'word'"):
        find_tokens("a", "word")
    with pytest.raises(ValueError, match="sentences must be one of lines, rule"):
        find_sentences("a", "line")
