import { Button, NativeSelect } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { nodeTypesQuery } from '../../../api/node-types.ts'
import type { Version, VersionSummary } from '../../../api/types.ts'
import { ErrorState, Loading } from '../../../components/status/states.tsx'
import { definitionStrings, designerStrings } from '../../../strings/pipelines/designer.ts'
import { useSearchParams } from '../../../use-search-params.ts'
import { versionQuery } from '../../../api/definitions.ts'
import { type EditSession, savedId, sessionWith } from './edit-session.ts'
import { CompareView } from '../versions/compare-view.tsx'
import { VersionEditor } from './graph-editor.tsx'
import classes from '../designer.module.css'

interface GraphTabProps {
  readonly definitionId: string
  /** Newest first. */
  readonly versions: readonly VersionSummary[]
  readonly readOnly: boolean
}

/** The chosen version on the canvas, alone or compared with another one. */
export function GraphTab({ definitionId, versions, readOnly }: GraphTabProps) {
  const [{ version: wanted, compare }, changeSearch] = useSearchParams()
  const newest = versions[0]
  const { versionId: shownId, number, onSaved } = useEditSession(versions, wanted)
  const comparedId = compare === shownId ? undefined : knownId(versions, compare)
  const shown = useQuery({ ...versionQuery(definitionId, shownId), enabled: shownId !== '' })
  const types = useQuery(nodeTypesQuery)
  const error = shown.error ?? types.error
  if (error) return <ErrorState error={error} onRetry={() => void Promise.all([shown.refetch(), types.refetch()])} />
  const pickers = <Pickers versions={versions} shownId={shownId} comparedId={comparedId} onChange={changeSearch} />
  if (!shown.data || !types.data || !newest) return <Loading />
  return (
    <div className={classes.graphTab}>
      {comparedId === undefined ? (
        <VersionEditor
          key={number}
          version={shown.data}
          types={types.data}
          readOnly={readOnly}
          newest={newest.version}
          pickers={pickers}
          onSaved={onSaved}
        />
      ) : (
        <>
          <div className={classes.toolbar}>{pickers}</div>
          <CompareView version={shown.data} fromId={comparedId} />
        </>
      )}
    </div>
  )
}

/** The session of the version to show: the wanted one, else the newest. */
function useEditSession(versions: readonly VersionSummary[], wanted: string | undefined) {
  const newestId = versions[0]?.id
  const [first] = useState(newestId) // does not change when a newer version appears, so that edits are not lost
  const [session, setSession] = useState<EditSession>({ versionId: '', savedAs: undefined, number: 0 })
  const shownId = knownId(versions, wanted) ?? savedId(session, wanted) ?? first ?? newestId ?? ''
  const current = sessionWith(session, shownId)
  if (current !== session) setSession(current)
  const onSaved = ({ id }: Version): void => setSession({ ...current, savedAs: id })
  return { ...current, onSaved }
}

function knownId(versions: readonly VersionSummary[], wanted: string | undefined): string | undefined {
  return versions.find(({ id }) => id === wanted)?.id
}

interface PickersProps {
  readonly versions: readonly VersionSummary[]
  readonly shownId: string
  readonly comparedId: string | undefined
  readonly onChange: (change: Readonly<Record<string, string | undefined>>) => void
}

/** Which version is shown, and which one it is compared with. */
function Pickers({ versions, shownId, comparedId, onChange }: PickersProps) {
  return (
    <>
      <VersionPicker
        label={designerStrings.version}
        versions={versions}
        value={shownId}
        onChange={(id) => onChange({ version: id, node: undefined })}
      />
      {versions.length > 1 && (
        <VersionPicker
          label={designerStrings.compare}
          nothing={designerStrings.compareNothing}
          versions={versions.filter(({ id }) => id !== shownId)}
          value={comparedId ?? ''}
          onChange={(id) => onChange({ compare: id === '' ? undefined : id, version: shownId, node: undefined })}
        />
      )}
      {comparedId !== undefined && (
        <>
          <Button
            variant="default"
            onClick={() => onChange({ version: comparedId, compare: shownId, node: undefined })}
          >
            {designerStrings.diff.swap}
          </Button>
          <Button variant="default" onClick={() => onChange({ compare: undefined })}>
            {designerStrings.diff.close}
          </Button>
        </>
      )}
    </>
  )
}

interface PickerProps {
  readonly label: string
  readonly versions: readonly VersionSummary[]
  readonly value: string
  readonly nothing?: string
  readonly onChange: (id: string) => void
}

function VersionPicker({ label, versions, value, nothing, onChange }: PickerProps) {
  const options = versions.map(({ id, version, environment }) => ({
    value: id,
    label: designerStrings.versionOption(version, definitionStrings.environments[environment]),
  }))
  return (
    <label className={classes.picker}>
      <span className={classes.hint}>{label}</span>
      <NativeSelect
        data={nothing === undefined ? options : [{ value: '', label: nothing }, ...options]}
        value={value}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      />
    </label>
  )
}
