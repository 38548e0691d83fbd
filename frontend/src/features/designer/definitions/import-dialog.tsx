import { Button, FileInput, Group, Modal, Stack, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { ApiError } from '../../../api/api-error.ts'
import { Note } from '../../../components/status/note.tsx'
import { errorText } from '../../../components/status/states.tsx'
import { common } from '../../../strings/everywhere/common.ts'
import { definitionStrings } from '../../../strings/pipelines/designer.ts'
import { useImportDefinition } from '../api.ts'
import { readDocument, type ReadDocument } from '../import-document.ts'

const words = definitionStrings.importing

interface ImportDialogProps {
  readonly opened: boolean
  readonly onClose: () => void
}

/** Makes a definition from an exported document. */
export function ImportDialog({ opened, onClose }: ImportDialogProps) {
  return (
    <Modal opened={opened} onClose={onClose} title={words.title} closeButtonProps={{ 'aria-label': common.close }}>
      <ImportForm onClose={onClose} />
    </Modal>
  )
}

function ImportForm({ onClose }: Pick<ImportDialogProps, 'onClose'>) {
  const [file, setFile] = useState<File | null>(null)
  const [read, setRead] = useState<ReadDocument>()
  const importing = useImportDefinition()
  const navigate = useNavigate()
  const choose = async (chosen: File | null): Promise<void> => {
    importing.reset()
    setFile(chosen)
    setRead(chosen ? readDocument(await chosen.text()) : undefined)
  }
  const submit = (): void => {
    if (read?.kind !== 'document') return
    importing.mutate(read.document, {
      onSuccess: ({ definition }) => {
        notifications.show({ message: words.done })
        onClose()
        void navigate({ to: '/definitions/$id', params: { id: definition.id } })
      },
    })
  }
  return (
    <Stack gap="sm">
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
      {importing.isError && <Refusal error={importing.error} />}
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={onClose}>
          {common.cancel}
        </Button>
        <Button disabled={read?.kind !== 'document'} loading={importing.isPending} onClick={submit}>
          {words.submit}
        </Button>
      </Group>
    </Stack>
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
