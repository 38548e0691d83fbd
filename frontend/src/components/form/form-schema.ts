import { schemaResolver } from '@mantine/form'
import { z } from 'zod'
import { ApiError } from '../../api/api-error.ts'

/** Reports a problem with a field that the schema of the request cannot find. */
export type AddProblem = (field: string, message: string) => void

/** What checks the values of a form and turns them into a request. */
export type FormSchema<Values, Request> = z.ZodType<Request, Values>

/**
 * Checks a form with the service's own schema of the request that it makes. `toRequest` only converts: texts to numbers,
 * empty fields to absent ones; what it cannot convert it passes on, and the schema refuses it.
 */
export function formSchema<Values, Request>(
  request: z.ZodType<Request>,
  toRequest: (values: Values, addProblem: AddProblem) => unknown,
): FormSchema<Values, Request> {
  const converted = z.custom<Values>().transform((values, context): unknown => {
    return toRequest(values, (field, message) => {
      context.addIssue({ code: 'custom', path: field.split('.'), message })
    })
  })
  return converted.pipe(request)
}

/** The messages of the fields that a schema refuses, by field; empty when the form can be sent. */
export function validateForm<Values extends object>(
  schema: FormSchema<Values, unknown>,
  values: Values,
): Readonly<Record<string, string>> {
  const known = new Map<string, unknown>(Object.entries(values))
  const errors: Record<string, string> = {}
  for (const [path, message] of Object.entries(schemaResolver(schema, { sync: true })(values))) {
    if (typeof message !== 'string') continue // the resolver gives only texts, which its type does not say
    const [top = ''] = path.split('.')
    // A text field can make a list of the request, such as `types.2`.
    errors[typeof known.get(top) === 'object' ? path : top] ??= asSentence(message)
  }
  return errors
}

/** Messages of the service begin in lower case, because API clients read them after the name of the field. */
function asSentence(message: string): string {
  const start = message.charAt(0).toUpperCase() + message.slice(1)
  return /[.!?]$/.test(start) ? start : `${start}.`
}

/** The fields that an error of the service names, with its messages. */
export function serverErrors(error: unknown, fields: readonly string[]): Readonly<Record<string, string>> {
  const errors = error instanceof ApiError ? error.errors : []
  return Object.fromEntries(
    errors.filter(({ path }) => fields.includes(path)).map(({ path, message }) => [path, asSentence(message)]),
  )
}
