import fc from 'fast-check'

const PIECES = [
  '`',
  '``',
  '.',
  '--',
  "'",
  '"',
  '/*',
  '*/',
  ';',
  '\\',
  '\n',
  '\u0000',
  ' ',
  '${x}',
  'drop',
  'ä',
  '表',
  '🙂',
  '\u202E',
  ':t',
]

/** Names of one part: any Unicode, and those made of what ends an identifier, a text or a comment in SQL. */
export function hostileName(): fc.Arbitrary<string> {
  const nasty = fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 6 }).map((pieces) => pieces.join(''))
  return fc.oneof(nasty, fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }))
}
