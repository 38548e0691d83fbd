import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { createOpenApiDocument } from '../../src/routes/openapi/openapi-document.ts'
import type { Route } from '../../src/routes/routing/route.ts'

/** A real answer, to be held against the document. */
export interface AnswerToCheck {
  readonly method: string
  readonly path: string
  readonly status: number
  readonly contentType: string
  readonly body: unknown
}

/** The part of the document that leads to the schema of an answer. */
interface Document {
  readonly paths: Record<string, Record<string, { responses: Record<string, { $ref?: string }> }>>
}

type Check = (answer: AnswerToCheck) => void

/** Checks of this process by the routes that they know: a document and its compiled schemas take a tenth of a second. */
const checks = new Map<string, Check>()

/** Returns a check that throws when a JSON answer (lines of JSON excepted) is not what the OpenAPI document of the routes promises. */
export function openApiCheck(routes: readonly Route[]): Check {
  const key = routes.map(({ method, path }) => `${method} ${path}`).join()
  const check = checks.get(key) ?? createOpenApiCheck(routes)
  checks.set(key, check)
  return check
}

function createOpenApiCheck(routes: readonly Route[]): Check {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  ;(addFormats as unknown as (ajv: Ajv2020) => void)(ajv)
  const document = createOpenApiDocument(routes, { version: 'test', basePath: '' }) as unknown as Document
  ajv.addSchema(document, 'openapi')
  const patterns = routes.map(({ path, method }) => ({
    method: method.toUpperCase(),
    path,
    matches: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  }))
  const compiled = new Map<string, ValidateFunction>()

  return function checkAnswer({ method, path, status, contentType, body }) {
    const route = patterns.find(
      (candidate) => candidate.method === method && candidate.matches.test(path.replace(/\?.*/, '')),
    )
    if (route === undefined || !/[/+]json\b/.test(contentType) || route.path === '/api/openapi.json') return
    const isProblem = contentType.includes('problem+json')
    const type = isProblem ? 'application/problem+json' : 'application/json'
    const promised = document.paths[route.path]?.[method.toLowerCase()]?.responses[String(status)]
    if (promised === undefined) throw new Error(`${method} ${path} → ${status} is not in the OpenAPI document`)
    const pointer =
      promised.$ref === undefined
        ? ['paths', route.path, method.toLowerCase(), 'responses', String(status), 'content', type, 'schema']
        : [...promised.$ref.slice(2).split('/'), 'content', type, 'schema']
    const reference = `openapi#/${pointer.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`
    const validate = compiled.get(reference) ?? ajv.compile({ $ref: reference })
    compiled.set(reference, validate)
    if (validate(body)) return
    const problems = ajv.errorsText(validate.errors, { separator: '\n  ' })
    throw new Error(
      `${method} ${path} → ${status} is not what the OpenAPI document says:\n  ${problems}\n${JSON.stringify(body)}`,
    )
  }
}
