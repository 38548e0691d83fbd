import { Button, Checkbox, Group, Modal, NativeSelect, Stack, Textarea, TextInput } from '@mantine/core'
import { RUN_ENVIRONMENTS } from '../../../../../src/domain/environments.ts'
import { ROLES } from '../../../../../src/domain/roles.ts'
import type { Grant } from '../../../api/types.ts'
import { useRequestForm } from '../../../components/form/use-request-form.ts'
import { Notice } from '../../../components/status/notice.tsx'
import { errorText } from '../../../components/status/states.tsx'
import { common } from '../../../strings/everywhere/common.ts'
import { roleName } from '../../../strings/everywhere/shell.ts'
import { grantStrings, settingsStrings } from '../../../strings/settings.ts'
import { formOf, grantSchema } from './grant-schema.ts'

const words = grantStrings.form

interface GrantDialogProps {
  readonly opened: boolean
  /** The grant that is changed; undefined: a new one. */
  readonly grant: Grant | undefined
  readonly isBusy: boolean
  readonly error: unknown
  readonly onClose: () => void
  readonly onSubmit: (grant: Grant) => void
}

/** Creates or changes a grant. */
export function GrantDialog({ opened, onClose, ...fields }: GrantDialogProps) {
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={fields.grant === undefined ? words.newTitle : words.editTitle}
      closeButtonProps={{ 'aria-label': common.close }}
      closeOnClickOutside={false}
    >
      <GrantFields {...fields} onClose={onClose} />
    </Modal>
  )
}

function GrantFields({ grant, isBusy, error, onClose, onSubmit }: Omit<GrantDialogProps, 'opened'>) {
  const { form, submit } = useRequestForm({ initialValues: formOf(grant), schema: grantSchema, onRequest: onSubmit })
  const field = (name: string) => form.getInputProps(name)
  const lists = ['tables', 'except'].map(
    (name) => Object.entries(form.errors).find(([path]) => path.startsWith(name))?.[1],
  )
  return (
    <form noValidate onSubmit={submit}>
      <Stack gap="sm">
        <TextInput
          label={words.principal}
          description={words.principalHelp}
          required
          data-autofocus
          autoComplete="off"
          spellCheck={false}
          {...field('principal')}
        />
        <NativeSelect
          label={words.role}
          description={words.roleHelp}
          data={ROLES.map((value) => ({ value, label: roleName(value) }))}
          {...field('role')}
        />
        <Textarea
          label={words.tables}
          description={words.tablesHelp}
          autosize
          minRows={2}
          required
          {...field('tables')}
          error={lists[0]}
        />
        <Textarea label={words.except} description={words.exceptHelp} autosize {...field('except')} error={lists[1]} />
        <Checkbox.Group label={words.environments} description={words.environmentsHelp} {...field('environments')}>
          <Group gap="md" mt="xs">
            {RUN_ENVIRONMENTS.map((environment) => (
              <Checkbox key={environment} value={environment} label={environment} />
            ))}
          </Group>
        </Checkbox.Group>
        {error ? (
          <Notice tone="bad" role="alert">
            {errorText(error)}
          </Notice>
        ) : undefined}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose} disabled={isBusy}>
            {settingsStrings.cancel}
          </Button>
          <Button type="submit" loading={isBusy}>
            {words.submit}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
