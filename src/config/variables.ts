import { z } from 'zod'
import type { Env } from './env.ts'

/** An object of settings read from the environment; each field is a {@link variable} or another group. */
export function fromEnv<Shape extends z.ZodRawShape>(shape: Shape) {
  const toEach = z.transform((env: Env): unknown => Object.fromEntries(Object.keys(shape).map((field) => [field, env])))
  return toEach.pipe(z.object(shape))
}

/** One environment variable; every issue of its schema gets the variable's name as a prefix. */
export function variable<Schema extends z.ZodType>(name: string, schema: Schema) {
  return z.transform((env: Env, context): z.output<Schema> => {
    const result = schema.safeParse(env[name])
    if (result.success) return result.data
    for (const { message } of result.error.issues) context.addIssue(`${name} ${message}`)
    return z.NEVER
  })
}

/** An error message with the rule and the value; not for secrets. */
export function shown(rule: string) {
  return { error: ({ input }: { readonly input?: unknown }) => `${rule}, not ${JSON.stringify(input)}` }
}

/** One of the given values. */
export function oneOf<const Values extends readonly string[]>(...values: Values) {
  return z.enum(values, shown(`must be one of ${values.join(', ')}`))
}

/** A whole number between `min` and `max`, inclusive. */
export function wholeNumber(min: number, max: number) {
  const isWhole = (text: string): boolean => /^\d+$/.test(text) && Number(text) >= min && Number(text) <= max
  return z
    .string()
    .refine(isWhole, shown(`must be a whole number from ${min} to ${max}`))
    .transform(Number)
}

/** Text that `parse` accepts; `parse` returns undefined for other text. */
export function parsed<T>(parse: (text: string) => T | undefined, rule: string) {
  return z.string().transform((text, context): T => {
    const value = parse(text)
    if (value !== undefined) return value
    context.addIssue(`${rule}, not ${JSON.stringify(text)}`)
    return z.NEVER
  })
}

/** Comma-separated entries, trimmed. */
export function listOf<Item extends z.ZodType<unknown, string>>(item: Item) {
  return z
    .string()
    .transform((text) => text.split(',').map((entry) => entry.trim()))
    .pipe(z.array(item))
}

/** Like {@link listOf}, but empty entries are ignored, and a missing variable is an empty list. */
export function looseListOf<Item extends z.ZodType<unknown, string>>(item: Item) {
  return z
    .string()
    .default('')
    .transform((text) => text.split(',').flatMap((entry) => (entry.trim() === '' ? [] : [entry.trim()])))
    .pipe(z.array(item))
}

/** Whether the text is an http(s) URL without credentials, query and fragment. */
export function isPlainHttpUrl(text: string): boolean {
  const url = URL.parse(text)
  const isPlain = url && !url.username && !url.password && !url.search && !url.hash
  return Boolean(isPlain) && (url?.protocol === 'https:' || url?.protocol === 'http:')
}
