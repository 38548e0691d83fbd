import { ActionIcon, Button, Tooltip } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { Link, useNavigate } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import type { Version } from '../../api/types.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { ArrangeIcon, CheckIcon, DownloadIcon, PlayIcon, RedoIcon, UndoIcon } from '../../components/icons.tsx'
import { errorText } from '../../components/states.tsx'
import { designerStrings } from '../../strings/designer.ts'
import { useSaveVersion } from './api.ts'
import { downloadVersion } from './download-version.ts'
import type { Validation } from './graph-editor.tsx'
import type { GraphEditor } from './use-graph-editor.ts'
import classes from './designer.module.css'

interface ToolbarProps {
  readonly version: Version
  readonly editor: GraphEditor
  readonly check: Validation
  readonly readOnly: boolean
  /** Stands before the tools. */
  readonly children: ReactNode
}

/** What is done to the graph as a whole. */
export function EditorToolbar({ version, editor, check, readOnly, children }: ToolbarProps) {
  const words = designerStrings
  const [isDiscarding, setDiscarding] = useState(false)
  const exportVersion = (): void => {
    downloadVersion(version).catch((error: unknown) => notifications.show({ color: 'red', message: errorText(error) }))
  }
  return (
    <div className={classes.toolbar}>
      {children}
      {!readOnly && (
        <>
          <ToolButton label={words.undo} disabled={!editor.canUndo} onClick={editor.undo} icon={<UndoIcon />} />
          <ToolButton label={words.redo} disabled={!editor.canRedo} onClick={editor.redo} icon={<RedoIcon />} />
          <ToolButton
            label={words.arrange}
            disabled={editor.graph.nodes.length === 0}
            onClick={editor.arrange}
            icon={<ArrangeIcon />}
          />
        </>
      )}
      <Button variant="default" leftSection={<CheckIcon size={14} />} loading={check.isPending} onClick={check.run}>
        {words.validate}
      </Button>
      <ToolButton label={words.export} onClick={exportVersion} icon={<DownloadIcon />} />
      <span className={classes.spring} />
      {readOnly && <span className={classes.hint}>{words.readOnly}</span>}
      {editor.isDirty && (
        <>
          <span className={classes.unsaved} role="status">
            {words.unsaved}
          </span>
          <Button variant="default" onClick={() => setDiscarding(true)}>
            {words.discard}
          </Button>
        </>
      )}
      {!readOnly && !editor.isDirty && editor.graph.nodes.length > 0 && (
        <Button
          variant="default"
          leftSection={<PlayIcon size={14} />}
          renderRoot={(props) => (
            <Link {...props} to="/pipelines/new" search={{ definition: version.definition_id, version: version.id }} />
          )}
        >
          {words.run}
        </Button>
      )}
      {!readOnly && <SaveButton version={version} editor={editor} check={check} />}
      <ConfirmDialog
        opened={isDiscarding}
        onClose={() => setDiscarding(false)}
        title={words.discardTitle}
        consequences={[words.discardText(version.version)]}
        confirmLabel={words.discard}
        destructive
        onConfirm={() => {
          editor.reset({ nodes: version.nodes, edges: version.edges })
          setDiscarding(false)
        }}
      />
    </div>
  )
}

function SaveButton({ version, editor, check }: Omit<ToolbarProps, 'readOnly' | 'children'>) {
  const words = designerStrings
  const [isAsking, setAsking] = useState(false)
  const save = useSaveVersion(version.definition_id)
  const navigate = useNavigate()
  const { validated } = check
  const errors =
    validated?.graph === editor.graph
      ? validated.answer.problems.filter(({ severity }) => severity === 'error').length
      : 0
  const confirm = (): void =>
    save.mutate(editor.graph, {
      onSuccess: (made) => {
        editor.reset(editor.graph)
        setAsking(false)
        notifications.show({ message: words.saved(made.version) })
        const search = (before: object): never => ({ ...before, version: made.id }) as never
        // What is left behind is saved, which the guard of unsaved changes is told with the next drawing only.
        void navigate({ to: '.', search, replace: true, ignoreBlocker: true })
      },
    })
  return (
    <>
      <Button disabled={!editor.isDirty} onClick={() => setAsking(true)}>
        {words.save}
      </Button>
      <ConfirmDialog
        opened={isAsking}
        onClose={() => setAsking(false)}
        title={words.saveDialog.title}
        consequences={[words.saveDialog.text, ...(errors > 0 ? [words.saveDialog.withProblems(errors)] : [])]}
        confirmLabel={words.save}
        busy={save.isPending}
        error={save.error}
        onConfirm={confirm}
      />
    </>
  )
}

interface ToolButtonProps {
  readonly label: string
  readonly icon: ReactNode
  readonly disabled?: boolean
  readonly onClick: () => void
}

function ToolButton({ label, icon, disabled = false, onClick }: ToolButtonProps) {
  return (
    <Tooltip label={label}>
      <ActionIcon variant="default" size={30} aria-label={label} disabled={disabled} onClick={onClick}>
        {icon}
      </ActionIcon>
    </Tooltip>
  )
}
