import { passwordIn, REDACTED } from '../../../../../src/domain/network/uri-password.ts'
import type { CatalogConfig, SetCatalogConfigRequest } from '../../../api/types.ts'
import { formSchema, type FormSchema } from '../../../components/form/form-schema.ts'
import { setCatalogConfigRequest } from '../../../components/form/schemas.ts'
import { formStrings } from '../../../strings/everywhere/forms.ts'
import { catalogStrings } from '../../../strings/settings.ts'
import { type CatalogForm, toRequest } from './form.ts'

const words = catalogStrings.problems

/** Checks the catalog form and makes its request; `config` is the catalog in use, whose password the service can keep. */
export function catalogSchema(config: CatalogConfig): FormSchema<CatalogForm, SetCatalogConfigRequest> {
  return formSchema(setCatalogConfigRequest, (form: CatalogForm, addProblem) => {
    const uri = form.uri.trim()
    if (form.catalog_type !== 'hadoop' && uri === '') addProblem('uri', formStrings.required)
    if (passwordIn(uri) === REDACTED && uri !== config.uri) addProblem('uri', words.password)
    const seen = new Set<string>()
    for (const [index, { key, value }] of form.properties.entries()) {
      const name = key.trim()
      if (name === '' && value !== '') addProblem(`properties.${index}.key`, words.nameless)
      if (name !== '' && seen.has(name)) addProblem(`properties.${index}.key`, words.twice)
      seen.add(name)
    }
    return toRequest(form)
  })
}
