/** How much larger than 16 px the text is that the reader has chosen. */
export function textScale(): number {
  return Number.parseFloat(getComputedStyle(document.documentElement).fontSize) / 16
}
