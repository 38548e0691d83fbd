/**
 * Spaces that DuckDB replaces by plain ones before it parses, outside of quotes. Its search for quotes does not know comments,
 * so a text that was checked alone could become another one behind a text with a quote in a comment.
 */
export const REPLACED_SPACES = /[\u00a0\u2000-\u200d\u202f\u205f\u2060\u3000\ufeff]/
