import { IcebergError } from '../../iceberg/errors.ts'

type Properties = Readonly<Record<string, string>>

/** Of a table. Each load of the table reads all of them. */
export const MAX_PROPERTIES = 10_000
/** Of a namespace. */
export const MAX_NAMESPACE_PROPERTIES = 1000
const MAX_NAME_LENGTH = 1000
/** Names and values of all properties of a table together; a name mapping of 20,000 columns needs 1 MiB. */
const MAX_CHARACTERS = 4 * 2 ** 20

/**
 * Refuses (`INVALID_ARGUMENT`) properties of a table that are too many, have long names, or are too long together.
 * A table that has more than that already, from another system, may keep and remove what it has.
 */
export function checkPropertyLimits(before: Properties, after: Properties): void {
  if (before === after) return
  const entries = Object.entries(after)
  if (entries.length > Math.max(MAX_PROPERTIES, Object.keys(before).length))
    throw tooMany(entries.length, MAX_PROPERTIES)
  const long = entries.find(([name]) => name.length > MAX_NAME_LENGTH && !Object.hasOwn(before, name))
  if (long !== undefined) {
    const [name] = long
    throw refuse(
      `the property name ${name.slice(0, 40)}… has ${name.length} characters, and at most ${MAX_NAME_LENGTH} are allowed`,
    )
  }
  const characters = charactersOf(entries)
  if (characters > MAX_CHARACTERS && characters > charactersOf(Object.entries(before))) {
    throw refuse(`the properties have ${characters} characters together, and at most ${MAX_CHARACTERS} are allowed`)
  }
}

/** Refuses (`INVALID_ARGUMENT`) a change of a namespace with too many properties. */
export function checkNamespaceProperties(count: number): void {
  if (count > MAX_NAMESPACE_PROPERTIES) throw tooMany(count, MAX_NAMESPACE_PROPERTIES)
}

function charactersOf(entries: readonly (readonly [string, string])[]): number {
  return entries.reduce((sum, [name, value]) => sum + name.length + value.length, 0)
}

function tooMany(count: number, most: number): IcebergError {
  return refuse(`there would be ${count} properties, and at most ${most} are allowed`)
}

function refuse(problem: string): IcebergError {
  return new IcebergError('INVALID_ARGUMENT', problem)
}
