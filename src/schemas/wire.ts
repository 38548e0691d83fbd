import type { z } from 'zod'

/** A value of JSON that its receiver does not change. */
type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T

/** What an answer of this schema must be: every field as the schema says, 64-bit numbers as text. */
export type Wire<Schema extends z.ZodType> = DeepReadonly<z.output<Schema>>
