"""The demonstration."""

import pytest
from commands import run


@pytest.mark.parametrize("argv", [(), ("demo",)])
def test_the_demonstration_reports_accuracy_time_a_line_and_what_to_do_next(argv, capsys):
    status, out, err = run(capsys, *argv)
    assert (status, err) == (0, "")
    assert "3,000 lines" in out and "17 labels" in out
    assert "2,000 sequences" in out and "1,000 sequences" in out
    for what, lowest in [("all", 95), ("known", 95), ("unknown", 90)]:
        line = next(x for x in out.splitlines() if x.startswith(f"accuracy, {what} tokens"))
        assert lowest < float(line.split()[3]) < 100
    assert "F1 of segments" in out and "B-STREET" in out
    assert "python -m sklearn_crcrf train FILE --model MODEL" in out


def test_the_demonstration_puts_each_label_below_its_token(capsys):
    _, out, _ = run(capsys)
    lines = out.split("never seen in training):\n\n")[1].splitlines()
    tokens, labels = lines[0], lines[1]
    starts = [i for i in range(1, len(tokens)) if tokens[i] != " " and tokens[i - 1] == " "]
    assert starts == [i for i in range(1, len(labels)) if labels[i] != " " == labels[i - 1]]
    assert all(len(line) <= 80 for line in out.splitlines()[:-7])
