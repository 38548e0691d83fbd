import { formSchema, type FormSchema } from '../../../components/form/form-schema.ts'
import {
  addColumnFields,
  dropColumnFields,
  OPERATION_REQUESTS,
  renameColumnFields,
} from '../../../components/form/schemas.ts'
import { formStrings } from '../../../strings/everywhere/forms.ts'
import type { Zone } from '../../../time/zone.ts'
import { type ActionKind, ACTIONS } from './action-specs.ts'
import { type FormValues, isAsked, readField } from './form-values.ts'

/** The body of a request that changes a table, with the name of the table. */
export type ActionRequest = Readonly<Record<string, unknown>>

/** The requests of the service; those of columns without the alternative of a plan, which a form does not offer. */
const SCHEMAS: Readonly<Record<ActionKind, FormSchema<unknown, ActionRequest>>> = {
  ...OPERATION_REQUESTS,
  add_column: addColumnFields,
  rename_column: renameColumnFields,
  drop_column: dropColumnFields,
}

/** Checks the form of an action on a table and makes its request; times in the form are in `zone`. */
export function actionSchema(kind: ActionKind, table: string, zone: Zone): FormSchema<FormValues, ActionRequest> {
  const { fields } = ACTIONS[kind]
  return formSchema(SCHEMAS[kind], (values: FormValues, addProblem) => {
    const request: Record<string, unknown> = { table }
    for (const field of fields) {
      if (!isAsked(field, values)) continue
      const read = readField(field, values[field.name], zone)
      if ('error' in read) addProblem(field.name, read.error)
      else if (read.value === undefined && field.required === true) addProblem(field.name, formStrings.required)
      else if (read.value !== undefined && field.local !== true) request[field.name] = read.value
    }
    if (values['position'] === 'first' && fields.some(({ name }) => name === 'position')) request['first'] = true
    return request
  })
}
