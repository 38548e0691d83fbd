const MAX_CHARS = 50_000
/** Characters that begin or end something inside of a paragraph; parsing takes the square of their number. */
const MAX_MARKS = 2000
const MARKS = /[*_~`[\]<]/g
/** 30 quotes or lists in each other on one line, or text that is indented as deep as 60 of them. */
const DEEP = /^(?:(?:[ \t]*(?:>|[-+*](?=[ \t])|\d{1,9}[.)](?=[ \t]))){30}|[ \t]{120})/m

/**
 * Whether text is too long or too nested to be parsed as Markdown: it would hold up the page for seconds, or overflow the
 * stack. Answers of models can contain text from tables, so anyone who can write to a table can influence it.
 */
export function isTooCostly(source: string): boolean {
  if (source.length > MAX_CHARS || DEEP.test(source)) return true
  return source.split(/\n[ \t]*\n/).some((paragraph) => (paragraph.match(MARKS)?.length ?? 0) > MAX_MARKS)
}
