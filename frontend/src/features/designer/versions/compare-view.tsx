import { useQuery } from '@tanstack/react-query'
import { useDeferredValue, useMemo } from 'react'
import type { Version, VersionDiff } from '../../../api/types.ts'
import { ErrorState, Loading } from '../../../components/status/states.tsx'
import { designerStrings } from '../../../strings/pipelines/designer.ts'
import { useSearchParams } from '../../../use-search-params.ts'
import { diffQuery } from '../api.ts'
import type { Mark } from '../../../components/graph/diff-drawing.ts'
import { DiffView } from '../../../components/graph/diff-view.tsx'
import type { Node } from '../../../components/graph/graph.ts'
import { configText, modeOf } from '../../../components/graph/node-summary.ts'
import { graphStrings } from '../../../strings/everywhere/graph.ts'
import { type DiffLine, diffLines } from './diff-lines.ts'
import classes from '../designer.module.css'

const words = designerStrings.diff

interface CompareProps {
  readonly version: Version
  /** The version that it is compared with. */
  readonly fromId: string
}

/** Two versions in one drawing, and their differences as a list. */
export function CompareView({ version, fromId }: CompareProps) {
  const { data: diff, error, refetch } = useQuery(diffQuery(version.definition_id, fromId, version.id))
  const isReady = useDeferredValue(diff !== undefined, false) // renders many changes in small steps
  if (error) return <ErrorState error={error} onRetry={() => void refetch()} />
  return isReady && diff ? <Comparison version={version} diff={diff} /> : <Loading />
}

function Comparison({ version, diff }: { readonly version: Version; readonly diff: VersionDiff }) {
  const [{ node: selectedId }, changeSearch] = useSearchParams()
  const lines = useMemo(() => diffLines(diff), [diff])
  const select = (id: string | undefined): void => changeSearch({ node: id })
  return (
    <div className={classes.workbench}>
      <div className={`${classes.middle} ${classes.wideMiddle}`}>
        <DiffView diff={diff} newer={version} selectedId={selectedId} onSelect={select} />
      </div>
      <div className={`${classes.right} ${classes.wideRight}`}>
        <section className={classes.panel} aria-label={titleOf(diff)}>
          <h2>{titleOf(diff)}</h2>
          <Counts lines={lines} />
          {diff.identical && <p className={classes.hint}>{words.identical}</p>}
          <ul className={classes.changes}>
            {lines.map((line) => (
              <Change
                key={`${line.kind} ${line.id} ${line.mark} ${line.path}`}
                line={line}
                isSelected={line.id === selectedId}
                onSelect={select}
              />
            ))}
          </ul>
        </section>
      </div>
    </div>
  )
}

function titleOf({ from, to }: VersionDiff): string {
  return words.title(from?.version ?? 0, to.version)
}

const MARKS = ['added', 'removed', 'changed', 'moved'] as const satisfies readonly Mark[]

function Counts({ lines }: { readonly lines: readonly DiffLine[] }) {
  return (
    <ul className={classes.counts}>
      {MARKS.map((mark) => {
        const names = new Set(lines.filter((line) => line.mark === mark).map(({ kind, id }) => `${kind} ${id}`))
        return (
          <li key={mark} className={classes[`mark-${mark}`]}>
            {graphStrings.marks[mark]} {names.size}
          </li>
        )
      })}
    </ul>
  )
}

interface ChangeProps {
  readonly line: DiffLine
  readonly isSelected: boolean
  readonly onSelect: (id: string) => void
}

function Change({ line: { mark, kind, id, path, from, to }, isSelected, onSelect }: ChangeProps) {
  return (
    <li>
      <div>
        <span className={classes[`mark-${mark}`]}>{graphStrings.marks[mark]}</span> {words[kind]}{' '}
        {kind === 'node' ? (
          <button type="button" className={classes.end} aria-pressed={isSelected} onClick={() => onSelect(id)}>
            {id}
          </button>
        ) : (
          <strong>{id}</strong>
        )}{' '}
        <code>{path}</code>
      </div>
      {mark === 'changed' || mark === 'moved' ? (
        <dl className={classes.values}>
          <dt>{words.before}</dt>
          <dd className={classes.before}>{textOf(from)}</dd>
          <dt>{words.after}</dt>
          <dd className={classes.after}>{textOf(to)}</dd>
        </dl>
      ) : (
        <div className={classes.hint}>{describe(to ?? from)}</div>
      )}
    </li>
  )
}

function textOf(value: unknown): string {
  if (value === undefined) return words.nothing
  return configText(value)
}

function isNode(item: object): item is Node {
  return 'type' in item && 'config' in item
}

/** A node by its type, an edge by its ends. */
function describe(item: unknown): string {
  if (typeof item !== 'object' || item === null) return ''
  if ('source' in item && 'target' in item) return `${String(item.source)} → ${String(item.target)}`
  return isNode(item) ? graphStrings.withMode(item.type, modeOf(item)) : ''
}
