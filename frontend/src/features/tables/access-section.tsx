import { Button, Group, Stack, Text, TextInput, Title } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { useCan } from '../../api/session.ts'
import type { AccessAnswer } from '../../api/types.ts'
import { useAction } from '../../api/actions/use-action.ts'
import { errorText } from '../../components/status/states.tsx'
import { roleName } from '../../strings/everywhere/shell.ts'
import { access as words } from '../../strings/tables.ts'
import { explainAccess } from '../settings/grants/api.ts'

/** Answers leads which grants give a user or group a role on a table. */
export function AccessSection({ table }: { readonly table: string }) {
  const [principal, setPrincipal] = useState('')
  const explain = useAction({ send: (name: string) => explainAccess(table, name) })
  if (!useCan('LeadDataEngineer')) return null
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (principal.trim() !== '') explain.mutate(principal.trim())
  }
  return (
    <Stack component="section" gap="xs">
      <Title order={2} m={0}>
        {words.title}
      </Title>
      <form onSubmit={submit}>
        <Group gap="xs" align="end">
          <TextInput
            label={words.principal}
            placeholder={words.placeholder}
            autoComplete="off"
            spellCheck={false}
            value={principal}
            onChange={(event) => setPrincipal(event.currentTarget.value)}
          />
          <Button type="submit" variant="default" loading={explain.isPending}>
            {words.submit}
          </Button>
        </Group>
      </form>
      <div role="status">
        {explain.error ? <Text c="red">{errorText(explain.error)}</Text> : undefined}
        {explain.data ? <Explanation answer={explain.data} /> : undefined}
      </div>
    </Stack>
  )
}

function Explanation({ answer: { limited, role, grants } }: { readonly answer: AccessAnswer }) {
  if (!limited) return <Text>{words.unlimited}</Text>
  if (role === null) return <Text>{words.none}</Text>
  return (
    <>
      <Text>{words.role(roleName(role))}</Text>
      {grants.map((grant, at) => (
        <Text key={at} c="dimmed">
          {words.grant(grant.principal, roleName(grant.role), grant.tables.join(', '))}
        </Text>
      ))}
    </>
  )
}
