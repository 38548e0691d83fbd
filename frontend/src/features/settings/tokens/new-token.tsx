import {
  Button,
  Group,
  Modal,
  NativeSelect,
  PasswordInput,
  type PasswordInputProps,
  Stack,
  TextInput,
} from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ROLES } from '../../../../../src/domain/roles.ts'
import { useMe } from '../../../api/session.ts'
import type { CreatedToken } from '../../../api/types.ts'
import { useRequestForm } from '../../../components/form/use-request-form.ts'
import { Notice } from '../../../components/status/notice.tsx'
import { errorText } from '../../../components/status/states.tsx'
import { common } from '../../../strings/everywhere/common.ts'
import { settingsStrings, tokenStrings } from '../../../strings/settings.ts'
import { roleName } from '../../../strings/everywhere/shell.ts'
import { createToken, type ProvenTokenRequest, tokensQuery } from '../api.ts'
import { SecretField, SecretText } from '../secret-field.tsx'
import { type TokenForm as TokenFormValues, tokenSchema } from './token-schema.ts'
import { EXPIRY_DAYS } from './token-state.ts'
import { serviceAddress } from '../../../base-path.ts'

const strings = tokenStrings.form

interface NewTokenProps {
  readonly opened: boolean
  readonly onClose: () => void
}

/** Creates a token and shows it once. */
export function NewToken({ opened, onClose }: NewTokenProps) {
  const client = useQueryClient()
  const create = useMutation({
    mutationFn: createToken,
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
  readonly onSubmit: (request: ProvenTokenRequest) => void
}

function TokenForm({ isBusy, error, onCancel, onSubmit }: TokenFormProps) {
  const [schema] = useState(() => tokenSchema(new Date())) // submitting again sends the same expiry
  const initialValues: TokenFormValues = { user: '', role: 'DataEngineer', name: '', expires: '90', proof: '' }
  const needsProof = useMe()?.via === 'session'
  const { form, submit } = useRequestForm({
    initialValues,
    schema,
    onRequest: (request) => onSubmit({ request, proof: needsProof ? form.getValues().proof.trim() : undefined }),
  })
  return (
    <form noValidate onSubmit={submit}>
      <Stack gap="sm">
        <TextInput
          label={strings.user}
          description={strings.userHelp}
          required
          data-autofocus
          autoComplete="off"
          {...form.getInputProps('user')}
        />
        <NativeSelect
          label={strings.role}
          description={strings.roles[form.values.role]}
          data={ROLES.map((value) => ({ value, label: roleName(value) }))}
          {...form.getInputProps('role')}
        />
        <TextInput
          label={strings.name}
          placeholder={strings.namePlaceholder}
          required
          maxLength={200}
          {...form.getInputProps('name')}
        />
        <NativeSelect
          label={strings.expires}
          data={EXPIRY_DAYS.map((value) => ({ value, label: strings.expiry[value] }))}
          {...form.getInputProps('expires')}
        />
        {needsProof ? <ProofField {...form.getInputProps('proof')} /> : undefined}
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

/** The caller's own token: a session alone may not create tokens. */
function ProofField(input: PasswordInputProps) {
  return <PasswordInput label={strings.proof} description={strings.proofHelp} required autoComplete="off" {...input} />
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
      <SecretField
        label={made.link}
        description={made.linkHelp}
        value={`${location.origin}${serviceAddress('/')}#token=${token.token}`}
      />
      <Group justify="flex-end">
        <Button onClick={onDone}>{made.done}</Button>
      </Group>
    </Stack>
  )
}
