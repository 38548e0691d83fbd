/**
 * Characters that are drawn as nothing or that change the direction of the text around them: Unicode's default ignorable
 * code points (UAX #44), controls except tab and line breaks, line and paragraph separators, interlinear annotations. The
 * parts of emoji sequences behind a pictograph stay as they are (UTS #51).
 */
const HIDDEN =
  /(?<![\p{Extended_Pictographic}\p{Emoji_Modifier}\u{FE0F}])\u{200D}|\u{200D}(?!\p{Extended_Pictographic})|(?<!\p{Extended_Pictographic})\u{FE0F}|(?!\t|\n|\r|\u{200D}|\u{FE0F})[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Zl}\p{Zp}\u{FFF9}-\u{FFFB}]/gu

const PLAIN = /^[\t\n\r\u{20}-\u{7E}\u{A0}-\u{AC}\u{AE}-\u{34E}\u{2010}-\u{2027}\u{202F}-\u{205F}\u{2070}-\u{2BFF}]*$/u

/** Whether a text has no hidden character and no word from right to left; most texts have none, so ask this first. */
export function isPlainText(text: string): boolean {
  return PLAIN.test(text)
}

/** A text as it may be shown: hidden characters as escapes such as `\u202e`, so that two names that differ look different. */
export function visibleText(text: string): string {
  return isPlainText(text) ? text : text.replace(HIDDEN, escapeOf)
}

function escapeOf(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16)
  return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`
}
