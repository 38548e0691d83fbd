import type { Grant, Role } from '../../../api/types.ts'
import { formSchema, type FormSchema } from '../../../components/form/form-schema.ts'
import { grantRequest } from '../../../components/form/schemas.ts'

/** The values of the form for a grant; lists are separated by line breaks. */
export interface GrantForm {
  readonly principal: string
  readonly role: Role
  readonly tables: string
  readonly except: string
  readonly environments: readonly string[]
}

/** The form of a grant, or of a new one. */
export function formOf(grant: Grant | undefined): GrantForm {
  const { principal = 'user:', role = 'Auditor', tables = [], except = [], environments = [] } = grant ?? {}
  return { principal, role, tables: tables.join('\n'), except: except.join('\n'), environments }
}

/** Checks the form of a grant and makes the grant. */
export const grantSchema: FormSchema<GrantForm, Grant> = formSchema(grantRequest, (form: GrantForm) => ({
  principal: form.principal.trim(),
  role: form.role,
  tables: linesIn(form.tables),
  ...(linesIn(form.except).length === 0 ? {} : { except: linesIn(form.except) }),
  ...(form.environments.length === 0 ? {} : { environments: form.environments }),
}))

function linesIn(text: string): readonly string[] {
  return text.split(/[\n,]+/).flatMap((line) => (line.trim() === '' ? [] : [line.trim()]))
}
