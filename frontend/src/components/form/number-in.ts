/** The number in a text field, with or without group separators; NaN for other text, undefined for none. */
export function numberIn(text: string): number | undefined {
  const digits = text.replaceAll(/[,\s]/g, '')
  if (digits === '') return undefined
  return /^-?\d+(\.\d+)?$/.test(digits) ? Number(digits) : Number.NaN
}
