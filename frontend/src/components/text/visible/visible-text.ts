/**
 * Characters that are drawn as nothing or that change the direction of the text around them: Unicode's default ignorable
 * code points (UAX #44), controls except tab and line breaks, line and paragraph separators, interlinear annotations. The
 * parts of emoji sequences behind a pictograph stay as they are (UTS #51).
 */
const HIDDEN =
  /(?<![\p{Extended_Pictographic}\p{Emoji_Modifier}\u{FE0F}])\u{200D}|\u{200D}(?!\p{Extended_Pictographic})|(?<!\p{Extended_Pictographic})\u{FE0F}|(?!\t|\n|\r|\u{200D}|\u{FE0F})[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Zl}\p{Zp}\u{FFF9}-\u{FFFB}]/gu

const RTL = String.raw`[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]`
/** Words of scripts that are written from right to left (UAX #9), with the spaces between them. */
const FROM_THE_RIGHT = new RegExp(String.raw`(${RTL}(?:[${RTL.slice(1, -1)}\p{M} ]*${RTL}\p{M}*)?)`, 'gu')

/** Whether a text needs nothing: most texts do, so this is asked first. */
const PLAIN = /^[\t\n\r\u{20}-\u{7E}\u{A0}-\u{AC}\u{AE}-\u{34E}\u{2010}-\u{2027}\u{202F}-\u{205F}\u{2070}-\u{2BFF}]*$/u

const FIRST_STRONG_ISOLATE = '\u2068'
const POP_ISOLATE = '\u2069'

/** A text as it may be shown: hidden characters as escapes such as `\u202e`, so that two names that differ look different. */
export function visibleText(text: string): string {
  return PLAIN.test(text) ? text : text.replace(HIDDEN, escapeOf)
}

function escapeOf(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16)
  return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`
}

/**
 * The parts of a text as it may be shown. Parts at odd positions are written from right to left and have to be isolated,
 * because such a word otherwise moves figures and signs next to it (UAX #9).
 */
export function directedParts(text: string): readonly string[] {
  return PLAIN.test(text) ? [text] : visibleText(text).split(FROM_THE_RIGHT)
}

/** The same as one text for places that hold no elements, such as `title` and `aria-label`. */
export function isolatedText(text: string): string {
  return directedParts(text)
    .map((part, at) => (at % 2 === 1 ? FIRST_STRONG_ISOLATE + part + POP_ISOLATE : part))
    .join('')
}
