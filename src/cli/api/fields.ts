import { readFile } from 'node:fs/promises'
import { text as readAll } from 'node:stream/consumers'
import type { Call, OptionSpec } from '../command.ts'
import { CommandError, UsageError } from '../errors.ts'
import type { Endpoint, FieldSpec } from '../endpoint.ts'

/** The option for a field: sizes need no unit, because they are in bytes. */
export function optionName(field: string): string {
  return field === 'plan_id' ? 'plan' : field.replace(/_bytes$/, '').replaceAll('_', '-')
}

const VALUES: Readonly<Record<FieldSpec['kind'], string | undefined>> = {
  text: 'TEXT',
  integer: 'NUMBER',
  number: 'NUMBER',
  list: 'A,B',
  word: 'WORD|JSON',
  flag: undefined,
  json: 'JSON',
}

/** How fields are written as options, by the names of the options. */
export function fieldOptions(fields: Readonly<Record<string, FieldSpec>>): Readonly<Record<string, OptionSpec>> {
  const entries = Object.entries(fields).map(([field, spec]) => {
    const { kind, choices } = spec
    const value = choices === undefined ? VALUES[kind] : 'VALUE'
    return [
      optionName(field),
      {
        help: helpFor(field, spec),
        ...(value === undefined ? {} : { value }),
        ...(choices === undefined ? {} : { choices }),
      },
    ] as const
  })
  return Object.fromEntries(entries)
}

function helpFor(field: string, { kind, choices, help, required }: FieldSpec): string {
  const words = help ?? field.replaceAll('_', ' ')
  const values = choices === undefined ? '' : `: ${choices.join(', ')}`
  const more = [kind === 'json' ? 'as JSON' : '', required === true ? 'required' : ''].filter((part) => part !== '')
  return `${words}${values}${more.length === 0 ? '' : ` (${more.join(', ')})`}`
}

/** The values of fields that were given as options. Throws {@link UsageError} for a value of another kind. */
export function givenFields(
  call: Call,
  fields: Readonly<Record<string, FieldSpec>>,
): Readonly<Record<string, unknown>> {
  const entries = Object.entries(fields).map(([field, { kind }]) => [field, givenValue(call, optionName(field), kind)])
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

function givenValue(call: Call, option: string, kind: FieldSpec['kind']): unknown {
  const text = call.text(option)
  switch (kind) {
    case 'flag':
      return call.isSet(option) || undefined
    case 'integer':
      return call.number(option)
    case 'number':
      return text === undefined ? undefined : decimal(text, option)
    case 'list':
      return text?.split(',').map((part) => part.trim())
    case 'word':
      return text?.startsWith('{') === true ? parseJson(text, `--${option}`, UsageError) : text
    case 'json':
      return text === undefined ? undefined : parseJson(text, `--${option}`, UsageError)
    default:
      return text
  }
}

function decimal(text: string, option: string): number {
  if (!/^-?\d{1,15}(\.\d{1,15})?$/.test(text)) throw new UsageError(`--${option} must be a number`)
  return Number(text)
}

/** Fields of a body that a person writes as options: texts, numbers, flags, lists of texts, and words. */
export function simpleFields({ body }: Endpoint, except: readonly string[]): Readonly<Record<string, FieldSpec>> {
  return Object.fromEntries(
    Object.entries(body).filter(([name, { kind }]) => kind !== 'json' && !except.includes(name)),
  )
}

/** The JSON object in a file; `-` is standard input. Throws {@link CommandError}. */
export async function readJsonFile(file: string): Promise<Readonly<Record<string, unknown>>> {
  const { name, value } = await readJson(file)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new CommandError(`${name} is not a JSON object`)
  }
  return value as Readonly<Record<string, unknown>>
}

/** The JSON list in a file, or in standard input for `-`. Throws {@link CommandError}. */
export async function readListFile(file: string): Promise<readonly unknown[]> {
  const { name, value } = await readJson(file)
  if (!Array.isArray(value)) throw new CommandError(`${name} is not a JSON list`)
  return value
}

async function readJson(file: string): Promise<{ readonly name: string; readonly value: unknown }> {
  const name = file === '-' ? 'standard input' : file
  const text = await (file === '-' ? readAll(process.stdin) : readFile(file, 'utf8')).catch((error: unknown) => {
    const { code } = error as { readonly code?: string }
    throw new CommandError(code === 'ENOENT' ? `there is no file ${name}` : `${name} cannot be read`)
  })
  return { name, value: parseJson(text.replace(/^\ufeff/, ''), name, CommandError) }
}

function parseJson(text: string, name: string, Problem: new (message: string) => Error): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    // the runtimes differ in their words; some name the place
    const place = /(?:position|line) \d+(?: column \d+)?/.exec(error instanceof Error ? error.message : '')?.[0]
    throw new Problem(`${name} is not JSON${place === undefined ? '' : `, at ${place}`}`)
  }
}
