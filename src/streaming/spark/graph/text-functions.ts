import { Refusal } from './refusal.ts'
import { constantValue, type SparkValue } from './values.ts'
import { typeText } from './value-types.ts'

type TextFunction = (args: readonly SparkValue[]) => SparkValue

/** Texts as they are; other types would be cast implicitly, or are lists or bytes. */
function texts(args: readonly SparkValue[], what: string): readonly string[] {
  const wrong = args.find(({ type }) => type.kind !== 'string')
  if (wrong !== undefined) throw new Refusal(`Spark may compute ${what} differently for ${typeText(wrong.type)}`)
  return args.map(({ sql }) => sql)
}

const isAnyNullable = (args: readonly SparkValue[]): boolean => args.some(({ isNullable }) => isNullable)

/** `||`, which gives NULL when a text is NULL. */
export function concatenation(args: readonly SparkValue[]): SparkValue {
  return {
    sql: `(${texts(args, 'the operator ||').join(' || ')})`,
    type: { kind: 'string' },
    isNullable: isAnyNullable(args),
  }
}

/** A function of two texts that compares their bytes. */
export function textTest(name: string): TextFunction {
  return (args) => {
    const sql = `${name}(${texts(args, `${name}()`).join(', ')})`
    return { sql, type: { kind: 'boolean' }, isNullable: isAnyNullable(args) }
  }
}

/** Characters that may escape others in a pattern; one that it does not contain leaves all characters as they are. */
const ESCAPES = ['!', '#', '~', '^', '|']
/** Characters of two UTF-16 units, which LIKE of Spark before SPARK-55453 does not find. */
const LONG_CHARACTER = /[\u{10000}-\u{10ffff}]/u

/** `LIKE` with a constant pattern; Spark would otherwise read backslashes in it. */
export function like(words: string): TextFunction {
  return (args) => {
    const [text, pattern] = texts(args, 'LIKE')
    const constant = args[1]?.constant
    if (constant?.type !== 'text')
      throw new Refusal('Spark may compute LIKE differently, except for a constant pattern')
    if (LONG_CHARACTER.test(constant.value))
      throw new Refusal(
        'some versions of Spark compute LIKE differently for a pattern with a character such as an emoji',
      )
    const escape = ESCAPES.find((character) => !constant.value.includes(character))
    if (escape === undefined) throw new Refusal(`LIKE has a pattern with each of ${ESCAPES.join(' ')}`)
    const sql = `(${text} ${words} ${pattern} ESCAPE '${escape}')`
    return { sql, type: { kind: 'boolean' }, isNullable: isAnyNullable(args) }
  }
}

/** The number of code points. */
export function lengthOf(args: readonly SparkValue[]): SparkValue {
  const [text] = texts(args, 'length()')
  return { sql: `CAST(char_length(${text}) AS BIGINT)`, type: { kind: 'long' }, isNullable: isAnyNullable(args) }
}

/** The character of a constant code point, with which parameters write spaces outside of ASCII. */
export function characterOf([code]: readonly SparkValue[]): SparkValue {
  const constant = code?.constant
  const point = constant?.type === 'integer' ? Number(constant.value) : 0
  const isCharacter = point > 0 && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff)
  if (!isCharacter) throw new Refusal('Spark may compute chr() differently, except for the code of a character')
  return constantValue({ type: 'text', value: String.fromCodePoint(point) })
}
