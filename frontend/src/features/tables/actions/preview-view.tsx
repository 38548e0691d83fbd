import { EngineChoice } from '../../../components/engine-choice.tsx'
import { formatCount, formatPlural } from '../../../strings/everywhere/units.ts'
import { Notice } from '../../../components/status/notice.tsx'
import { RelativeTime } from '../../../time/relative-time.tsx'
import { useZone } from '../../../time/time-settings.ts'
import { formatTime } from '../../../time/zone.ts'
import { actions as words, previews } from '../../../strings/table-actions.ts'
import classes from './action-drawer.module.css'
import { type Details, figuresOf, isDetails, numberOf, textOf } from './action-figures.ts'
import type { ActionKind } from './action-specs.ts'
import { ScrollList } from './scroll-list.tsx'
import { describeColumnChanges } from './column-changes.ts'

export interface PreviewViewProps {
  readonly kind: ActionKind
  readonly details: Details
  readonly nothing: boolean
}

/** A preview: its figures, and everything that would be removed or changed. */
export function PreviewView({ kind, details, nothing }: PreviewViewProps) {
  return (
    <>
      <Notice tone="info">{nothing ? words.nothingToDo : words.planned}</Notice>
      <EngineChoice details={details} />
      {kind === 'compact' && textOf(details, 'engine') === 'spark' && (
        <p className={classes.about}>{previews.sparkCommits}</p>
      )}
      <DetailFigures kind={kind} details={details} />
      <Specifics kind={kind} details={details} />
    </>
  )
}

/** The figures of an answer by name. */
export function DetailFigures({ kind, details }: { readonly kind: ActionKind; readonly details: Details }) {
  const figures = figuresOf(kind, details)
  if (figures.length === 0) return null
  return (
    <dl className={classes.figures}>
      {figures.map(({ name, label, text }) => [<dt key={`${name} label`}>{label}</dt>, <dd key={name}>{text}</dd>])}
    </dl>
  )
}

function Specifics({ kind, details }: { readonly kind: ActionKind; readonly details: Details }) {
  if (kind === 'expire') return <ExpirySpecifics details={details} />
  if (kind === 'remove_orphans') {
    return <ShortList title={previews.orphansTitle} items={textsOf(details['orphan_file_locations'])} />
  }
  if (Array.isArray(details['failures'])) {
    return (
      <>
        <Overlapping details={details} />
        <Skipped details={details} />
      </>
    )
  }
  if (kind === 'rollback') return <RollbackSpecifics details={details} />
  return <ColumnSpecifics details={details} />
}

function RollbackSpecifics({ details }: { readonly details: Details }) {
  const zone = useZone()
  const timeOf = (name: string): string => {
    const at = textOf(details, name)
    return at === '' ? previews.untilNow : formatTime(at, zone)
  }
  const isByTime = textOf(details, 'to_timestamp') !== ''
  const sentence = previews.rollback(textOf(details, 'previous_snapshot_id'), textOf(details, 'current_snapshot_id'))
  return (
    <>
      <p className={classes.about}>{sentence}</p>
      {isByTime && (
        <p className={classes.about}>
          {previews.rollbackTime(timeOf('to_timestamp'), timeOf('made_current_at'), timeOf('current_until'))}
        </p>
      )}
    </>
  )
}

function ExpirySpecifics({ details }: { readonly details: Details }) {
  const refs = textsOf(details['removed_refs'])
  const pins = objectsOf(details['pinned_by'])
  const expired = objectsOf(details['expired_snapshots'])
  return (
    <>
      {pins.filter(isKeeping).map((pin) => (
        <Notice key={textOf(pin, 'pipeline_id')} tone="info">
          {previews.pinned(textOf(pin, 'pipeline_id'), formatPlural(numberOf(pin, 'kept_snapshots_count'), 'snapshot'))}
        </Notice>
      ))}
      {refs.length > 0 && <p className={classes.about}>{previews.removedRefs(refs.join(', '))}</p>}
      {expired.length > 0 && (
        <>
          <ScrollList title={previews.expiredTitle}>
            {expired.slice(0, SHOWN).map((snapshot) => (
              <li key={textOf(snapshot, 'snapshot_id')}>
                <span>{textOf(snapshot, 'snapshot_id')}</span>
                <span>{textOf(snapshot, 'operation')}</span>
                <RelativeTime at={textOf(snapshot, 'committed_at')} />
              </li>
            ))}
          </ScrollList>
          <More count={numberOf(details, 'expired_snapshots_count') - Math.min(SHOWN, expired.length)} />
        </>
      )}
    </>
  )
}

/** Pins that keep no snapshot of this plan are not shown. */
function isKeeping(pin: Details): boolean {
  return numberOf(pin, 'kept_snapshots_count') > 0
}

const SHOWN = 200

function ShortList({ title, items }: { readonly title: string; readonly items: readonly string[] }) {
  if (items.length === 0) return null
  return (
    <>
      <ScrollList title={title}>
        {items.slice(0, SHOWN).map((item) => (
          <li key={item}>
            <span>{item}</span>
          </li>
        ))}
      </ScrollList>
      <More count={items.length - SHOWN} />
    </>
  )
}

function More({ count }: { readonly count: number }) {
  return count > 0 ? <p className={classes.about}>{words.more(formatCount(count))}</p> : null
}

/** The files whose bounds overlap most, when rows are laid out anew. */
function Overlapping({ details }: { readonly details: Details }) {
  const files = objectsOf(details['groups']).flatMap((group) => objectsOf(group['most_overlapping']))
  const items = files
    .filter((file) => numberOf(file, 'overlaps') > 0)
    .toSorted((a, b) => numberOf(b, 'overlaps') - numberOf(a, 'overlaps'))
    .map((file) => previews.overlapping(formatCount(numberOf(file, 'overlaps')), textOf(file, 'file_path')))
  return <ShortList title={previews.overlappingTitle} items={items} />
}

function Skipped({ details }: { readonly details: Details }) {
  const reasons = objectsOf(details['failures']).map(
    (failure) => `${formatPlural(numberOf(failure, 'files'), 'file')}: ${textOf(failure, 'reason')}`,
  )
  return <ShortList title={previews.skippedTitle} items={reasons} />
}

/** What happens, or happened, to the columns; nothing when they are no part of it. */
export function ColumnSpecifics({ details }: { readonly details: Details }) {
  const changes = describeColumnChanges(details['columns_before'], details['columns'])
  if (changes.length === 0) return null
  return (
    <ScrollList title={previews.columnsTitle} columns>
      {changes.map(({ id, path, type, change, was }) => (
        <li key={id}>
          <span className={change === 'dropped' ? classes.gone : undefined}>{path}</span>
          <span>{type}</span>
          {change === 'added' && <span className={classes.tag}>{previews.added}</span>}
          {change === 'renamed' && <span className={classes.tag}>{previews.renamed(was ?? '')}</span>}
          {change === 'dropped' && <span className={classes.tag}>{previews.dropped}</span>}
        </li>
      ))}
    </ScrollList>
  )
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}

function objectsOf(value: unknown): readonly Details[] {
  return Array.isArray(value) ? value.filter(isDetails) : []
}
