import { ActionIcon, Button, NativeSelect, Tooltip } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { Link, useNavigate } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { minRoleIn, RUN_ENVIRONMENTS } from '../../../../../src/domain/environments.ts'
import { useCan } from '../../../api/session.ts'
import type { Version } from '../../../api/types.ts'
import { useAction } from '../../../api/actions/use-action.ts'
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx'
import type { Graph } from '../../../components/graph/graph.ts'
import { ArrangeIcon, CheckIcon, DownloadIcon, PlayIcon, RedoIcon, UndoIcon } from '../../../components/icons.tsx'
import { errorText } from '../../../components/status/states.tsx'
import { designerStrings } from '../../../strings/pipelines/designer.ts'
import { environments } from '../../../strings/environments.ts'
import { saveVersion } from '../api.ts'
import { downloadVersion } from '../versions/download-version.ts'
import type { Validation } from './use-validation.ts'
import type { GraphEditor } from './use-graph-editor.ts'
import classes from '../designer.module.css'

interface ToolbarProps {
  readonly version: Version
  readonly editor: GraphEditor
  readonly check: Validation
  readonly readOnly: boolean
  /** Called with a version that was made, and its graph. */
  readonly onSaved: (made: Version, graph: Graph) => void
  /** Shown before the tools. */
  readonly children: ReactNode
}

/** Actions on the whole graph. */
export function EditorToolbar({ version, editor, check, readOnly, onSaved, children }: ToolbarProps) {
  const words = designerStrings
  const [isDiscarding, setDiscarding] = useState(false)
  const exportVersion = (): void => {
    downloadVersion(version).catch((error: unknown) => notifications.show({ color: 'red', message: errorText(error) }))
  }
  return (
    <div className={classes.toolbar}>
      {children}
      {!readOnly && <EditTools editor={editor} />}
      <ValidateTool check={check} />
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
      {!editor.isDirty && editor.graph.nodes.length > 0 && <RunButton version={version} />}
      {!readOnly && <SaveButton version={version} editor={editor} check={check} onSaved={onSaved} />}
      <ConfirmDialog
        opened={isDiscarding}
        onClose={() => setDiscarding(false)}
        title={words.discardTitle}
        consequences={[words.discardText(version.version)]}
        confirmLabel={words.discard}
        destructive
        onConfirm={() => {
          editor.discard()
          setDiscarding(false)
        }}
      />
    </div>
  )
}

function EditTools({ editor }: Pick<ToolbarProps, 'editor'>) {
  const words = designerStrings
  const arrange = (): void => {
    editor.arrange().catch((error: unknown) => notifications.show({ color: 'red', message: errorText(error) }))
  }
  return (
    <>
      <ToolButton label={words.undo} disabled={!editor.canUndo} onClick={editor.undo} icon={<UndoIcon />} />
      <ToolButton label={words.redo} disabled={!editor.canRedo} onClick={editor.redo} icon={<RedoIcon />} />
      <ToolButton
        label={words.arrange}
        disabled={editor.graph.nodes.length === 0}
        onClick={arrange}
        icon={<ArrangeIcon />}
      />
    </>
  )
}

/** Validates with the parameters of an environment. */
function ValidateTool({ check }: Pick<ToolbarProps, 'check'>) {
  const { environment, setEnvironment, isPending, run } = check
  return (
    <>
      <Button variant="default" leftSection={<CheckIcon size={14} />} loading={isPending} onClick={run}>
        {designerStrings.validate}
      </Button>
      <NativeSelect
        aria-label={designerStrings.validateFor}
        title={designerStrings.validateFor}
        data={RUN_ENVIRONMENTS.map((value) => ({ value, label: environments[value] }))}
        value={environment}
        onChange={({ currentTarget: { value } }) => {
          const chosen = RUN_ENVIRONMENTS.find((one) => one === value)
          if (chosen) setEnvironment(chosen)
        }}
      />
    </>
  )
}

/** Opens the form that starts a pipeline with this version, for users who may run versions in its environment. */
function RunButton({ version }: Pick<ToolbarProps, 'version'>) {
  const { environment } = version
  const mayRun = useCan(environment === 'retired' ? 'LeadDataEngineer' : minRoleIn(environment))
  if (environment === 'retired' || !mayRun) return undefined
  return (
    <Button
      variant="default"
      leftSection={<PlayIcon size={14} />}
      renderRoot={(props) => (
        <Link {...props} to="/pipelines/new" search={{ definition: version.definition_id, version: version.id }} />
      )}
    >
      {designerStrings.run}
    </Button>
  )
}

function SaveButton({ version, editor, check, onSaved }: Omit<ToolbarProps, 'readOnly' | 'children'>) {
  const words = designerStrings
  const [isAsking, setAsking] = useState(false)
  const navigate = useNavigate()
  const { validated } = check
  const errors =
    validated?.graph === editor.graph
      ? validated.answer.problems.filter(({ severity }) => severity === 'error').length
      : 0
  const save = useAction({
    send: (graph: Graph) => saveVersion(version.definition_id, graph),
    changes: [['definitions', version.definition_id]],
    said: (made) => words.saved(made.version),
    onDone: (made, graph) => {
      editor.reset(graph)
      onSaved(made, graph)
      setAsking(false)
      const search = (before: object): never => ({ ...before, version: made.id }) as never
      // The graph is saved, but the guard of unsaved changes gets to know it only with the next render.
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
        action={save}
        onConfirm={() => save.mutate(editor.graph)}
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
