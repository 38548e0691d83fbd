import { Button, Group, Stack, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { api } from '../../api/client.ts'
import { queryClient } from '../../api/query-client.ts'
import { tablesQuery } from '../../api/tables.ts'
import type { RegisterRequest, TableOverview } from '../../api/types.ts'
import { formSchema, serverErrors } from '../../components/form/form-schema.ts'
import { useRequestForm } from '../../components/form/use-request-form.ts'
import { registerRequest } from '../../components/form/schemas.ts'
import { Notice } from '../../components/status/notice.tsx'
import { errorText } from '../../components/status/states.tsx'
import { common } from '../../strings/everywhere/common.ts'
import { register as words } from '../../strings/table-actions.ts'

const FIELDS = ['table', 'metadata_location'] as const

const schema = formSchema(registerRequest, (values: RegisterRequest) => ({
  table: values.table.trim(),
  metadata_location: values.metadata_location.trim(),
}))

/** The form that registers a table. */
export function RegisterForm({ onClose }: { readonly onClose: () => void }) {
  const navigate = useNavigate()
  const register = useMutation({
    mutationFn: (request: RegisterRequest) => api.post<TableOverview>('/api/tables/register', request),
    onSuccess: async (_overview, { table }) => {
      await queryClient.invalidateQueries({ queryKey: tablesQuery.queryKey })
      onClose()
      await navigate({ to: '/tables/$table', params: { table } })
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
    <form onSubmit={submit} noValidate>
      <Stack gap="sm">
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
        {register.isError && !isAtField && <Notice tone="bad">{errorText(register.error)}</Notice>}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            {common.cancel}
          </Button>
          <Button type="submit" loading={register.isPending}>
            {words.submit}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
