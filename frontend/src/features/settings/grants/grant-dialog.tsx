import { Checkbox, Group, NativeSelect, Textarea, TextInput } from '@mantine/core'
import { RUN_ENVIRONMENTS } from '../../../../../src/domain/environments.ts'
import { ROLES } from '../../../../../src/domain/roles.ts'
import type { Grant } from '../../../api/types.ts'
import type { ActionState } from '../../../api/actions/use-action.ts'
import { DialogForm } from '../../../components/form/dialog-form.tsx'
import { FormDialog } from '../../../components/form/form-dialog.tsx'
import { useRequestForm } from '../../../components/form/use-request-form.ts'
import { roleName } from '../../../strings/everywhere/shell.ts'
import { grantStrings } from '../../../strings/settings.ts'
import { formOf, grantSchema } from './grant-schema.ts'

const words = grantStrings.form

interface GrantDialogProps {
  readonly opened: boolean
  /** The grant that is changed; undefined: a new one. */
  readonly grant: Grant | undefined
  readonly action: ActionState
  readonly onClose: () => void
  readonly onSubmit: (grant: Grant) => void
}

/** Creates or changes a grant. */
export function GrantDialog({ opened, onClose, ...fields }: GrantDialogProps) {
  return (
    <FormDialog opened={opened} onClose={onClose} title={fields.grant === undefined ? words.newTitle : words.editTitle}>
      <GrantFields {...fields} onClose={onClose} />
    </FormDialog>
  )
}

function GrantFields({ grant, action, onClose, onSubmit }: Omit<GrantDialogProps, 'opened'>) {
  const { form, submit } = useRequestForm({ initialValues: formOf(grant), schema: grantSchema, onRequest: onSubmit })
  const field = (name: string) => form.getInputProps(name)
  const lists = ['tables', 'except'].map(
    (name) => Object.entries(form.errors).find(([path]) => path.startsWith(name))?.[1],
  )
  return (
    <DialogForm action={action} submitLabel={words.submit} onSubmit={submit} onCancel={onClose}>
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
    </DialogForm>
  )
}
