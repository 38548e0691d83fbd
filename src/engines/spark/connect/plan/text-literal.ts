/** Text without quotes, backslashes and `$`, whose meaning depends on settings of the server. */
const PLAIN = /^[\w `.,:;=<>()+*/%@-]*$/

/** A text as a literal; anything but {@link PLAIN} text as its bytes, so that it can never become a part of the statement. */
export function textLiteral(text: string): string {
  if (PLAIN.test(text)) return `'${text}'`
  const bytes = [...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, '0'))
  return `CAST(X'${bytes.join('')}' AS STRING)`
}
