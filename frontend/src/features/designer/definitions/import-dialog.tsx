import { FileInput, Text } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { ApiError } from '../../../api/api-error.ts'
import { useAction } from '../../../api/actions/use-action.ts'
import { DialogForm } from '../../../components/form/dialog-form.tsx'
import { FormDialog } from '../../../components/form/form-dialog.tsx'
import { Note } from '../../../components/status/note.tsx'
import { errorText } from '../../../components/status/states.tsx'
import { definitionStrings } from '../../../strings/pipelines/designer.ts'
import { importDefinition } from '../api.ts'
import { readDocument, type ReadDocument } from '../import-document.ts'

const words = definitionStrings.importing

interface ImportDialogProps {
  readonly opened: boolean
  readonly onClose: () => void
}

/** Makes a definition from an exported document. */
export function ImportDialog({ opened, onClose }: ImportDialogProps) {
  return (
    <FormDialog opened={opened} onClose={onClose} title={words.title}>
      <ImportForm onClose={onClose} />
    </FormDialog>
  )
}

function ImportForm({ onClose }: Pick<ImportDialogProps, 'onClose'>) {
  const [file, setFile] = useState<File | null>(null)
  const [read, setRead] = useState<ReadDocument>()
  const navigate = useNavigate()
  const importing = useAction({
    send: importDefinition,
    changes: ['definitions'],
    said: words.done,
    onDone: ({ definition }) => {
      onClose()
      void navigate({ to: '/definitions/$id', params: { id: definition.id } })
    },
  })
  const choose = async (chosen: File | null): Promise<void> => {
    importing.reset()
    setFile(chosen)
    setRead(chosen ? readDocument(await chosen.text()) : undefined)
  }
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (read?.kind === 'document') importing.mutate(read.document)
  }
  return (
    <DialogForm
      action={importing}
      submitLabel={words.submit}
      canSubmit={read?.kind === 'document'}
      onSubmit={submit}
      onCancel={onClose}
      failure={importing.isError && <Refusal error={importing.error} />}
    >
      <Text size="sm">{words.text}</Text>
      <FileInput
        size="xs"
        label={words.file}
        placeholder={words.choose}
        accept="application/json,.json"
        value={file}
        error={problemOf(read)}
        onChange={(chosen) => void choose(chosen)}
      />
      {read?.kind === 'document' && <Text size="sm">{words.found(read.name)}</Text>}
    </DialogForm>
  )
}

function Refusal({ error }: { readonly error: unknown }) {
  const fields = error instanceof ApiError ? error.errors : []
  return (
    <Note tone="bad" live="alert" title={errorText(error)}>
      {fields.map(({ path, message }) => (
        <div key={path}>
          {path}: {message}
        </div>
      ))}
    </Note>
  )
}

function problemOf(read: ReadDocument | undefined): string | undefined {
  if (read === undefined || read.kind === 'document') return undefined
  if (read.kind === 'newer') return words.newer(read.formatVersion ?? 0)
  return read.kind === 'not-json' ? words.notJson : words.notDocument
}
