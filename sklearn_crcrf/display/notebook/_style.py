"""The style sheet of all displays."""

__all__ = ["STYLE"]

LIGHT = """
--ink:#1c2024;--quiet:#57606a;--paper:#fff;--line:#c6ccd2;--tint:72% 90%;--edge:45% 45%;
--wrong:#a40e26;--wrong-paper:#ffebe9;--plus:#1a7f37;--minus:#a40e26;
"""
DARK = """
--ink:#e6edf3;--quiet:#9aa4ae;--paper:#14181d;--line:#3d444d;--tint:38% 27%;--edge:45% 65%;
--wrong:#ff938a;--wrong-paper:#4a1a1c;--plus:#56d364;--minus:#ff938a;
"""
# The selectors of light and dark pages in Sphinx, JupyterLab and Visual Studio Code.
PAGES = {
    "light": ("[data-theme=light]", "[data-jp-theme-light=true]", ".vscode-light"),
    "dark": ("[data-theme=dark]", "[data-jp-theme-light=false]", ".vscode-dark"),
}
IN_PAGE = {scheme: ",".join(f"{page} .crcrf" for page in pages) for scheme, pages in PAGES.items()}
# The first token of a mark is no isolate: a line could break before it, after the edge of the mark.
STYLE = (
    ".crcrf{"
    + LIGHT
    + """position:relative;box-sizing:border-box;max-width:100%;padding:.7em .9em;margin:0;
color:var(--ink);background:var(--paper);font:15px/1.6 system-ui,sans-serif;
text-align:left;overflow-wrap:anywhere}
@media (prefers-color-scheme:dark){.crcrf{"""
    + DARK
    + "}}"
    + f"{IN_PAGE['light']}{{{LIGHT}}}{IN_PAGE['dark']}{{{DARK}}}"
    + """
.crcrf p{margin:0 0 .4em}
.crcrf .quiet{color:var(--quiet);font-size:13px}
.crcrf b.label{font-size:11px;font-weight:600;letter-spacing:.02em;color:var(--ink)}
.crcrf mark{background:hsl(var(--h) var(--tint));color:var(--ink);
border:1px solid hsl(var(--h) var(--edge));border-radius:.35em;padding:.1em .3em;margin:0 .1em;
line-height:2;-webkit-box-decoration-break:clone;box-decoration-break:clone}
.crcrf .word{display:inline-flex;flex-direction:column;align-items:center;vertical-align:top;
margin:.15em;padding:.1em .35em;line-height:1.35;border-radius:.35em;
border:1px solid hsl(var(--h) var(--edge));background:hsl(var(--h) var(--tint))}
.crcrf .plain{border-color:transparent;background:none}
.crcrf .wrong{border:2px solid var(--wrong);background:var(--wrong-paper)}
.crcrf .wrong .label{color:var(--wrong)}
.crcrf .token{cursor:default;unicode-bidi:isolate}
.crcrf mark{unicode-bidi:isolate}
.crcrf mark>.token:first-child,.crcrf mark>.token:first-child>bdi{unicode-bidi:normal}
.crcrf .unsure{text-decoration:underline dotted 2px;text-underline-offset:.2em}
.crcrf .token:hover,.crcrf .token:focus{outline:2px solid var(--quiet);outline-offset:1px;
border-radius:2px}
.crcrf .hint{margin:.3em 0 0;min-height:1.7em}
.crcrf .tip{display:none;position:absolute;left:0;right:0;bottom:0;padding:.25em .9em .7em;
box-sizing:border-box;background:var(--paper);color:var(--ink);font-size:13px;font-weight:400;
line-height:1.6}
.crcrf .token:hover .tip,.crcrf .token:focus .tip{display:block}
.crcrf .share{display:inline-block;margin-left:1em;white-space:nowrap}
.crcrf .share i{display:inline-block;height:.6em;margin-right:.3em;background:var(--quiet)}
.crcrf ul,.crcrf ol{margin:.2em 0 0;padding-left:1.4em}
.crcrf .scroll{overflow-x:auto}
.crcrf svg{display:block;max-width:none}
.crcrf svg text{fill:var(--ink);font:13px system-ui,sans-serif}
.crcrf svg .grid{stroke:var(--line)}
.crcrf svg circle{fill:var(--quiet);stroke:var(--paper)}
.crcrf svg .path{fill:none;stroke:hsl(var(--h) var(--edge));stroke-linejoin:round}
.crcrf svg .label{font-size:11px;font-weight:600}
.crcrf svg .link{stroke:var(--quiet)}
.crcrf svg .box{fill:hsl(var(--h,210) var(--tint));stroke:hsl(var(--h,210) var(--edge))}
.crcrf svg .share{stroke:hsl(var(--h,210) var(--edge));stroke-width:3}
.crcrf .whole{white-space:nowrap}
.crcrf li svg{display:inline-block;vertical-align:middle;margin-right:.4em}
.crcrf table{border-collapse:collapse;border:0;margin:0;font-size:14px;color:var(--ink);
background:none}
.crcrf tr{background:none}
.crcrf th,.crcrf td{padding:.1em .6em;border:0;text-align:left;vertical-align:baseline;
font-weight:400;background:none}
.crcrf tr.total>*{border-top:1px solid var(--line);font-weight:600}
.crcrf .number{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
.crcrf .bar{min-width:7em;width:20%}
.crcrf .bar i{display:inline-block;height:.65em;background:var(--plus)}
.crcrf .bar i.minus{background:var(--minus)}
@media (max-width:40em){.crcrf .hint{min-height:3.6em}.crcrf .bar,.crcrf .times{display:none}}
@media print{.crcrf.crcrf{"""
    + LIGHT
    + """padding:0}
.crcrf *{-webkit-print-color-adjust:exact;print-color-adjust:exact}
.crcrf .tip,.crcrf .hint{display:none!important}
.crcrf .scroll{overflow:visible}
.crcrf .scroll svg{max-width:100%;height:auto}
.crcrf .word,.crcrf tr{break-inside:avoid}}
"""
).replace("\n", "")
