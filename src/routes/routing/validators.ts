import { zValidator } from '@hono/zod-validator'
import type { MiddlewareHandler, ValidationTargets } from 'hono'
import { createMiddleware } from 'hono/factory'
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

/** The checks of a request against a route's schemas, in the order path, query, body. */
export function validators({ params, query, body }: Shapes): MiddlewareHandler<AppEnv>[] {
  return [
    ...(params ? [validate('param', params)] : []),
    refuseRepeatedParameters,
    ...(query ? [validate('query', query)] : []),
    ...(body ? [keepStrictJson, validate('json', body)] : []),
  ]
}

/** Checks one part. Throws `INVALID_REQUEST`, or the code that the schema itself names, with every field. */
function validate(target: keyof typeof PARTS, schema: z.ZodType): MiddlewareHandler<AppEnv> {
  return zValidator(
    target,
    schema,
    (result) => {
      if (!result.success) throw refusalOf(PARTS[target], result.error.issues)
    },
    // without waiting: Zod compiles schemas for synchronous checks only
    { validationFunction: check },
  )
}

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
const keepStrictJson = createMiddleware<AppEnv>(async function readStrictJson(c, next) {
  const body = await readJson(c.env)
  Object.assign(c.req, { json: async () => body })
  await next()
})

/** Refuses repeated parameters, which parsers read differently. */
const refuseRepeatedParameters: MiddlewareHandler<AppEnv> = ({ req }, next) => {
  const queries = req.url.includes('?') ? Object.entries(req.queries()) : []
  const repeated = queries.find(([, values]) => values.length > 1)
  if (repeated === undefined) return next()
  throw fieldRefusal('INVALID_REQUEST', [{ path: repeated[0], message: 'is given more than once' }])
}
