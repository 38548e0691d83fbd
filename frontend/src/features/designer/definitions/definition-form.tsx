import { Text, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ActionState } from '../../../api/actions/use-action.ts'
import { DialogForm } from '../../../components/form/dialog-form.tsx'
import { formSchema, type FormSchema } from '../../../components/form/form-schema.ts'
import { useRequestForm } from '../../../components/form/use-request-form.ts'
import { createDefinitionRequest } from '../../../components/form/schemas.ts'
import { definitionStrings } from '../../../strings/pipelines/designer.ts'
import type { Naming } from '../api.ts'

const words = definitionStrings.form

const schema: FormSchema<Naming, Naming> = formSchema(
  createDefinitionRequest.pick({ name: true, description: true }),
  ({ name, description }: Naming) => ({ name: name.trim(), description }),
)

export interface DefinitionFormProps {
  readonly onClose: () => void
  /** Label of the button. */
  readonly submit: string
  readonly initial: Naming
  readonly hint?: string
  readonly action: ActionState
  /** Called with the values of the form, and with its values when it was opened. */
  readonly onSubmit: (given: Naming, initial: Naming) => void
}

/** Name and description of a definition. */
export function DefinitionForm({ onClose, submit: label, hint, action, ...props }: DefinitionFormProps) {
  const [initial] = useState(props.initial) // live updates do not change an open form
  const { form, submit } = useRequestForm({
    initialValues: initial,
    schema,
    onRequest: (given) => {
      if (!action.isPending) props.onSubmit(given, initial)
    },
  })
  return (
    <DialogForm action={action} submitLabel={label} onSubmit={submit} onCancel={onClose}>
      <TextInput
        label={words.name}
        description={words.nameHelp}
        required
        maxLength={200}
        data-autofocus
        {...form.getInputProps('name')}
      />
      <Textarea
        label={words.description}
        autosize
        minRows={2}
        maxRows={8}
        maxLength={10_000}
        {...form.getInputProps('description')}
      />
      {hint !== undefined && <Text size="sm">{hint}</Text>}
    </DialogForm>
  )
}
