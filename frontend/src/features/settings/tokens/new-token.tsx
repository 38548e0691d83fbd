import { Button, Group, NativeSelect, PasswordInput, type PasswordInputProps, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import { ROLES } from '../../../../../src/domain/roles.ts'
import { useMe } from '../../../api/session.ts'
import type { CreatedToken } from '../../../api/types.ts'
import { type ActionState, useAction } from '../../../api/actions/use-action.ts'
import { DialogForm } from '../../../components/form/dialog-form.tsx'
import { FormDialog } from '../../../components/form/form-dialog.tsx'
import { useRequestForm } from '../../../components/form/use-request-form.ts'
import { tokenStrings } from '../../../strings/settings.ts'
import { roleName } from '../../../strings/everywhere/shell.ts'
import { createToken, type ProvenTokenRequest } from '../api.ts'
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
  const create = useAction({ send: createToken, changes: ['tokens'] })
  const close = (): void => {
    create.reset()
    onClose()
  }
  const isMade = create.data !== undefined
  return (
    <FormDialog
      opened={opened}
      onClose={close}
      title={isMade ? tokenStrings.made.title : strings.title}
      closeOnEscape={!isMade}
    >
      {create.data ? (
        <MadeToken token={create.data} onDone={close} />
      ) : (
        <TokenForm action={create} onCancel={close} onSubmit={create.mutate} />
      )}
    </FormDialog>
  )
}

interface TokenFormProps {
  readonly action: ActionState
  readonly onCancel: () => void
  readonly onSubmit: (request: ProvenTokenRequest) => void
}

function TokenForm({ action, onCancel, onSubmit }: TokenFormProps) {
  const [schema] = useState(() => tokenSchema(new Date())) // submitting again sends the same expiry
  const initialValues: TokenFormValues = { user: '', role: 'DataEngineer', name: '', expires: '90', proof: '' }
  const needsProof = useMe()?.via === 'session'
  const { form, submit } = useRequestForm({
    initialValues,
    schema,
    onRequest: (request) => onSubmit({ request, proof: needsProof ? form.getValues().proof.trim() : undefined }),
  })
  return (
    <DialogForm action={action} submitLabel={strings.submit} onSubmit={submit} onCancel={onCancel}>
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
    </DialogForm>
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
