import { Button, Group, Modal, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { Note } from '../../components/note.tsx'
import { errorText } from '../../components/states.tsx'
import { common } from '../../strings/common.ts'
import { definitionStrings } from '../../strings/designer.ts'
import type { Naming } from './api.ts'

const words = definitionStrings.form

interface FormDialogProps {
  readonly opened: boolean
  readonly onClose: () => void
  readonly title: string
  readonly submit: string
  readonly initial: Naming
  readonly hint?: string
  readonly busy: boolean
  readonly error: unknown
  /** Gets what was written, and what stood in the form when it was opened. */
  readonly onSubmit: (given: Naming, initial: Naming) => void
}

/** Asks for name and description. */
export function DefinitionFormDialog({ opened, onClose, title, ...form }: FormDialogProps) {
  return (
    <Modal opened={opened} onClose={onClose} title={title} closeButtonProps={{ 'aria-label': common.close }}>
      <DefinitionForm onClose={onClose} {...form} />
    </Modal>
  )
}

function DefinitionForm(props: Omit<FormDialogProps, 'opened' | 'title'>) {
  const { onClose, submit, hint, busy, error, onSubmit } = props
  const [initial] = useState(props.initial) // whatever comes in live
  const [name, setName] = useState(initial.name)
  const [description, setDescription] = useState(initial.description)
  const [isTried, setTried] = useState(false)
  const isNameless = name.trim() === ''
  const send = (event: FormEvent): void => {
    event.preventDefault()
    setTried(true)
    if (!isNameless && !busy) onSubmit({ name: name.trim(), description }, initial)
  }
  return (
    <form onSubmit={send} noValidate>
      <Stack gap="sm">
        <TextInput
          label={words.name}
          description={words.nameHelp}
          required
          maxLength={200}
          data-autofocus
          value={name}
          error={isTried && isNameless ? words.required : undefined}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        <Textarea
          label={words.description}
          autosize
          minRows={2}
          maxRows={8}
          maxLength={10_000}
          value={description}
          onChange={({ currentTarget }) => setDescription(currentTarget.value)}
        />
        {hint !== undefined && <Text size="sm">{hint}</Text>}
        {error !== null && error !== undefined && (
          <Note tone="bad" live="alert">
            {errorText(error)}
          </Note>
        )}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose} disabled={busy}>
            {common.cancel}
          </Button>
          <Button type="submit" loading={busy}>
            {submit}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
