import { formSchema, type FormSchema } from '../../../components/form/form-schema.ts'
import { createWebhookRequest } from '../../../components/form/schemas.ts'
import type { CreateWebhookRequest } from '../../../api/types.ts'
import { webhookStrings } from '../../../strings/settings.ts'

/** The values of the form for a new webhook; event types are separated by spaces, commas or line breaks. */
export interface WebhookForm {
  readonly url: string
  readonly types: string
}

/** Checks the form for a new webhook and makes its request; without event types, the service uses its default. */
export const webhookSchema: FormSchema<WebhookForm, CreateWebhookRequest> = formSchema(
  createWebhookRequest,
  ({ url, types }: WebhookForm, addProblem) => {
    const trimmed = url.trim()
    if (!/^https?:\/\/\S+$/.test(trimmed)) addProblem('url', webhookStrings.form.urlProblem)
    const listed = types.split(/[\s,]+/).filter((type) => type !== '')
    return { url: trimmed, ...(listed.length === 0 ? {} : { types: listed }) }
  },
)
