import { Button, Group, Modal, Stack, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { ApiError } from '../../api/api-error.ts'
import { api } from '../../api/client.ts'
import { queryClient } from '../../api/query-client.ts'
import { tablesQuery } from '../../api/tables.ts'
import type { RegisterRequest, TableOverview } from '../../api/types.ts'
import { Notice } from '../../components/notice.tsx'
import { errorText } from '../../components/states.tsx'
import { common } from '../../strings/common.ts'
import { register as words } from '../../strings/table-actions.ts'

/** Adds a table that exists in storage to the catalog. */
export function RegisterDialog() {
  const [opened, { open, close }] = useDisclosure(false)
  return (
    <>
      <Button variant="default" onClick={open}>
        {words.open}
      </Button>
      <Modal opened={opened} onClose={close} title={words.title} closeButtonProps={{ 'aria-label': common.close }}>
        <RegisterForm onClose={close} />
      </Modal>
    </>
  )
}

function RegisterForm({ onClose }: { readonly onClose: () => void }) {
  const navigate = useNavigate()
  const [table, setTable] = useState('')
  const [location, setLocation] = useState('')
  const register = useMutation({
    mutationFn: (request: RegisterRequest) => api.post<TableOverview>('/api/tables/register', request),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: tablesQuery.queryKey })
      onClose()
      await navigate({ to: '/tables/$table', params: { table: table.trim() } })
    },
  })
  const fieldError = (path: string): string | undefined =>
    register.error instanceof ApiError ? register.error.errors.find((each) => each.path === path)?.message : undefined
  const unplaced = register.isError && !fieldError('table') && !fieldError('metadata_location')
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        register.mutate({ table: table.trim(), metadata_location: location.trim() })
      }}
    >
      <Stack gap="sm">
        <TextInput
          label={words.table}
          description={words.tableHint}
          value={table}
          onChange={(event) => setTable(event.currentTarget.value)}
          error={fieldError('table')}
          required
          data-autofocus
        />
        <TextInput
          label={words.location}
          description={words.locationHint}
          value={location}
          onChange={(event) => setLocation(event.currentTarget.value)}
          error={fieldError('metadata_location')}
          required
        />
        {unplaced && <Notice tone="bad">{errorText(register.error)}</Notice>}
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
