import { Button, Group, Modal, NativeSelect, Stack, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ROLES } from '../../../../src/domain/roles.ts'
import type { CreatedToken, CreateTokenRequest, Role } from '../../api/types.ts'
import { Notice } from '../../components/notice.tsx'
import { errorText } from '../../components/states.tsx'
import { common } from '../../strings/common.ts'
import { settingsStrings, tokenStrings } from '../../strings/settings.ts'
import { roleName } from '../../strings/shell.ts'
import { createToken, tokensQuery } from './api.ts'
import { SecretField, SecretText } from './secret-field.tsx'
import { EXPIRY_DAYS, type ExpiryDays, expiryOf, isUserName } from './token-state.ts'

const strings = tokenStrings.form

interface NewTokenProps {
  readonly opened: boolean
  readonly onClose: () => void
}

/** Makes a token and shows it, once. */
export function NewToken({ opened, onClose }: NewTokenProps) {
  const client = useQueryClient()
  const create = useMutation({
    mutationFn: (request: CreateTokenRequest) => createToken(request),
    onSuccess: () => client.invalidateQueries({ queryKey: tokensQuery.queryKey }),
    gcTime: 0, // the secret stays no longer than the dialog
  })
  const close = (): void => {
    create.reset()
    onClose()
  }
  const isMade = create.data !== undefined
  return (
    <Modal
      opened={opened}
      onClose={close}
      title={isMade ? tokenStrings.made.title : strings.title}
      closeButtonProps={{ 'aria-label': common.close }}
      closeOnClickOutside={!isMade}
      closeOnEscape={!isMade}
    >
      {create.data ? (
        <MadeToken token={create.data} onDone={close} />
      ) : (
        <TokenForm isBusy={create.isPending} error={create.error} onCancel={close} onSubmit={create.mutate} />
      )}
    </Modal>
  )
}

interface TokenFormProps {
  readonly isBusy: boolean
  readonly error: unknown
  readonly onCancel: () => void
  readonly onSubmit: (request: CreateTokenRequest) => void
}

function TokenForm({ isBusy, error, onCancel, onSubmit }: TokenFormProps) {
  const [user, setUser] = useState('')
  const [name, setName] = useState('')
  const [role, setRole] = useState<Role>('DataEngineer')
  const [openedAt] = useState(() => new Date()) // one form is one order, however often it is sent
  const [days, setDays] = useState<ExpiryDays>('90')
  const [isChecked, setChecked] = useState(false)
  const isUserGood = isUserName(user)
  const isNameGood = name.trim() !== ''
  const submit = (): void => {
    setChecked(true)
    if (isUserGood && isNameGood) onSubmit({ user, role, name: name.trim(), expires_at: expiryOf(days, openedAt) })
  }
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      <Stack gap="sm">
        <TextInput
          label={strings.user}
          description={strings.userHelp}
          required
          data-autofocus
          autoComplete="off"
          value={user}
          error={isChecked && !isUserGood ? strings.userProblem : undefined}
          onChange={({ currentTarget }) => setUser(currentTarget.value)}
        />
        <NativeSelect
          label={strings.role}
          description={strings.roles[role]}
          data={ROLES.map((value) => ({ value, label: roleName(value) }))}
          value={role}
          onChange={({ currentTarget }) => setRole(currentTarget.value as Role)}
        />
        <TextInput
          label={strings.name}
          placeholder={strings.namePlaceholder}
          required
          maxLength={200}
          value={name}
          error={isChecked && !isNameGood ? strings.required : undefined}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        <NativeSelect
          label={strings.expires}
          data={EXPIRY_DAYS.map((value) => ({ value, label: strings.expiry[value] }))}
          value={days}
          onChange={({ currentTarget }) => setDays(currentTarget.value as ExpiryDays)}
        />
        {error ? (
          <Notice tone="bad" role="alert">
            {errorText(error)}
          </Notice>
        ) : undefined}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onCancel} disabled={isBusy}>
            {settingsStrings.cancel}
          </Button>
          <Button type="submit" loading={isBusy}>
            {strings.submit}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

interface MadeTokenProps {
  readonly token: CreatedToken
  readonly onDone: () => void
}

function MadeToken({ token, onDone }: MadeTokenProps) {
  const { made } = tokenStrings
  return (
    <Stack gap="sm">
      <SecretText>{made.text(made.as(token.user, roleName(token.role)))}</SecretText>
      <SecretField label={made.token} value={token.token} />
      <SecretField label={made.link} description={made.linkHelp} value={`${location.origin}/#token=${token.token}`} />
      <Group justify="flex-end">
        <Button onClick={onDone}>{made.done}</Button>
      </Group>
    </Stack>
  )
}
