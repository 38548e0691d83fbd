import { isPlainText, visibleText } from '../../../../../src/lib/visible-text.ts'

const RTL = String.raw`[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]`
/** Words of scripts that are written from right to left (UAX #9), with the spaces between them. */
const FROM_THE_RIGHT = new RegExp(String.raw`(${RTL}(?:[${RTL.slice(1, -1)}\p{M} ]*${RTL}\p{M}*)?)`, 'gu')

const FIRST_STRONG_ISOLATE = '\u2068'
const POP_ISOLATE = '\u2069'

/**
 * The parts of a text as it may be shown. Parts at odd positions are written from right to left and have to be isolated,
 * because such a word otherwise moves figures and signs next to it (UAX #9).
 */
export function directedParts(text: string): readonly string[] {
  return isPlainText(text) ? [text] : visibleText(text).split(FROM_THE_RIGHT)
}

/** The same as one text for places that hold no elements, such as `title` and `aria-label`. */
export function isolatedText(text: string): string {
  return directedParts(text)
    .map((part, at) => (at % 2 === 1 ? FIRST_STRONG_ISOLATE + part + POP_ISOLATE : part))
    .join('')
}
