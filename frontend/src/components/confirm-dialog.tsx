import { Button, Group, List, Modal, Stack, Text, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { common } from '../strings/common.ts'
import { Notice } from './notice.tsx'
import { errorText } from './states.tsx'

export interface ConfirmDialogProps {
  readonly opened: boolean
  readonly onClose: () => void
  readonly title: string
  /** What will be true afterwards, one sentence each. */
  readonly consequences: readonly string[]
  readonly confirmLabel: string
  /** Of the button that leaves all as it is; default: Cancel. */
  readonly cancelLabel?: string
  readonly onConfirm: () => void
  readonly destructive?: boolean
  readonly busy?: boolean
  /** Why the last try failed. */
  readonly error?: unknown
  /** The word that must be typed before it can be confirmed. */
  readonly typeToConfirm?: { readonly word: string; readonly label: string }
  readonly confirmDisabled?: boolean
  /** A form above the buttons. */
  readonly children?: ReactNode
}

/** Asks before something is done, with the consequences spelled out. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { opened, onClose, title, busy = false } = props
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={title}
      closeButtonProps={{ 'aria-label': common.close }}
      closeOnClickOutside={!busy}
      closeOnEscape={!busy}
    >
      <ConfirmBody {...props} />
    </Modal>
  )
}

function ConfirmBody(props: ConfirmDialogProps) {
  const {
    consequences,
    confirmLabel,
    cancelLabel = common.cancel,
    onConfirm,
    onClose,
    destructive = false,
    busy = false,
  } = props
  const { error, typeToConfirm, confirmDisabled = false, children } = props
  const [typed, setTyped] = useState('')
  const ready = !confirmDisabled && (typeToConfirm === undefined || typed === typeToConfirm.word)
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (ready && !busy) onConfirm()
      }}
    >
      <Stack gap="sm">
        {consequences.length === 1 && <Text size="sm">{consequences[0]}</Text>}
        {consequences.length > 1 && (
          <List size="sm" spacing={4}>
            {consequences.map((consequence) => (
              <List.Item key={consequence}>{consequence}</List.Item>
            ))}
          </List>
        )}
        {children}
        {typeToConfirm && (
          <TextInput
            label={typeToConfirm.label}
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
            autoComplete="off"
            spellCheck={false}
            data-autofocus
          />
        )}
        {error !== undefined && error !== null && <Notice tone="bad">{errorText(error)}</Notice>}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose} disabled={busy}>
            {cancelLabel}
          </Button>
          <Button type="submit" disabled={!ready} loading={busy} {...(destructive ? { color: 'red.8' } : {})}>
            {confirmLabel}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
