import { TextInput } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { api } from '../../api/client.ts'
import type { RegisterRequest, TableOverview } from '../../api/types.ts'
import { useAction } from '../../api/actions/use-action.ts'
import { DialogForm } from '../../components/form/dialog-form.tsx'
import { formSchema, serverErrors } from '../../components/form/form-schema.ts'
import { useRequestForm } from '../../components/form/use-request-form.ts'
import { registerRequest } from '../../components/form/schemas.ts'
import { register as words } from '../../strings/table-actions.ts'

const FIELDS = ['table', 'metadata_location'] as const

const schema = formSchema(registerRequest, (values: RegisterRequest) => ({
  table: values.table.trim(),
  metadata_location: values.metadata_location.trim(),
}))

/** The form that registers a table. */
export function RegisterForm({ onClose }: { readonly onClose: () => void }) {
  const navigate = useNavigate()
  const register = useAction({
    send: (request: RegisterRequest) => api.post<TableOverview>('/api/tables/register', request),
    changes: ['tables'],
    onDone: (_overview, { table }) => {
      onClose()
      return navigate({ to: '/tables/$table', params: { table } })
    },
    onError: (error) => form.setErrors(serverErrors(error, FIELDS)),
  })
  const { form, submit } = useRequestForm({
    initialValues: { table: '', metadata_location: '' },
    schema,
    onRequest: (request) => register.mutate(request),
  })
  const isAtField = FIELDS.some((field) => form.errors[field] !== undefined)
  return (
    <DialogForm
      action={register}
      submitLabel={words.submit}
      onSubmit={submit}
      onCancel={onClose}
      {...(isAtField ? { failure: null } : {})}
    >
      <TextInput
        label={words.table}
        description={words.tableHint}
        required
        data-autofocus
        {...form.getInputProps('table')}
      />
      <TextInput
        label={words.location}
        description={words.locationHint}
        required
        {...form.getInputProps('metadata_location')}
      />
    </DialogForm>
  )
}
