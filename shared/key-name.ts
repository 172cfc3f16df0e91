/**
 * Keys by tmux's names, as far as a terminal has bytes for them; of others tmux types the name, or nothing: a
 * character or `Enter`, `Escape`, … also with `M-`; a letter, `Space` or one of `@[\]^_?` with `C-`; `S-Tab`; arrows,
 * `Home` to `Delete` and `F1` to `F12` with any of `C-`, `M-` and `S-`.
 */
export const KEY_NAME = new RegExp(
  `^(?:${[
    "(?:M-)?(?:[!-~]|Enter|Escape|Tab|Space|BSpace)",
    "(?:C-|C-M-|M-C-)(?:[A-Za-z@[\\]\\\\^_?]|Space)",
    "BTab|S-Tab",
    "(?:[CMS]-){0,3}(?:Up|Down|Left|Right|Home|End|PageUp|PageDown|PPage|NPage|IC|DC|Insert|Delete|F(?:[1-9]|1[0-2]))",
  ].join("|")})$`,
);
