import { zValidator } from '@hono/zod-validator'
import type { Context, MiddlewareHandler, ValidationTargets } from 'hono'
import type { z } from 'zod'
import type { DomainErrorCode } from '../../domain/error-codes.ts'
import { DomainError } from '../../domain/errors.ts'
import type { AppEnv } from '../../middleware/app-env.ts'
import { check, fieldErrors, fieldRefusal, firstSentence } from '../../schemas/issues.ts'
import { readJson } from './read-json.ts'

/** The parts of a request that a route has schemas for. */
interface Shapes {
  readonly params?: z.ZodType
  readonly query?: z.ZodType
  readonly body?: z.ZodType
}

/** What `c.req.valid` returns after the {@link validators} of a route. */
export interface Validated<Params, Query, Body> {
  readonly out: { readonly param: Params; readonly query: Query; readonly json: Body }
}

/** Names of request parts in error messages. */
const PARTS = { param: 'path', query: 'query', json: 'body' } as const satisfies Partial<
  Record<keyof ValidationTargets, string>
>

/** Checks a part of a request and throws refusals. */
export type Check = (c: Context<AppEnv>) => void | Promise<unknown>

/** The checks of a request against a route's schemas, in the order path, query, body. */
export function validators({ params, query, body }: Shapes): Check[] {
  return [
    ...(params ? [validate('param', params)] : []),
    refuseRepeatedParameters,
    ...(query ? [validate('query', query)] : []),
    ...(body ? [keepStrictJson, validate('json', body)] : []),
  ]
}

/** Checks one part. Throws `INVALID_REQUEST`, or the code that the schema itself names, with every field. */
function validate(target: keyof typeof PARTS, schema: z.ZodType): Check {
  const validator: MiddlewareHandler<AppEnv> = zValidator(
    target,
    schema,
    (result) => {
      if (!result.success) throw refusalOf(PARTS[target], result.error.issues)
    },
    // without waiting: Zod compiles schemas for synchronous checks only
    { validationFunction: check },
  )
  return (c) => validator(c, done)
}

/** Nothing follows a check here. */
async function done(): Promise<void> {}

function refusalOf(part: string, all: readonly z.core.$ZodIssue[]): DomainError {
  const { code, issues } = mostSevere(all)
  const fields = fieldErrors(issues)
  return new DomainError(code, firstSentence(fields, `the ${part}`), { fields })
}

interface Refusal {
  readonly code: DomainErrorCode
  readonly issues: readonly z.core.$ZodIssue[]
}

/** All issues as `INVALID_REQUEST`; an issue with its own code replaces all others. */
function mostSevere(issues: readonly z.core.$ZodIssue[]): Refusal {
  for (const issue of issues) {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- schemas name codes of the list only
    const code = issue.code === 'custom' ? (issue.params?.['code'] as DomainErrorCode | undefined) : undefined
    if (code !== undefined) return { code, issues: [issue] }
  }
  return { code: 'INVALID_REQUEST', issues }
}

/** Reads the body as strict JSON and stores it for the validator. */
const keepStrictJson: Check = async (c) => {
  const body = await readJson(c.env)
  Object.assign(c.req, { json: async () => body })
}

/** Refuses repeated parameters, which parsers read differently. */
const refuseRepeatedParameters: Check = (c) => {
  if (!c.req.url.includes('?')) return
  for (const [name, values] of Object.entries(c.req.queries())) {
    if (values.length === 1) continue
    const field = { path: name, message: 'is given more than once' }
    throw fieldRefusal('INVALID_REQUEST', [field])
  }
}
