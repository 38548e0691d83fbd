import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { VersionSummary } from '../../../api/types.ts'
import { RelativeTime } from '../../../time/relative-time.tsx'
import { shell } from '../../../strings/everywhere/shell.ts'
import { definitionPageStrings, definitionStrings } from '../../../strings/pipelines/designer.ts'
import type { Move } from '../board.ts'
import classes from '../board.module.css'

const words = definitionPageStrings

interface VersionCardProps {
  readonly version: VersionSummary
  /** Pipelines that run it. */
  readonly running: number
  readonly moves: readonly Move[]
  readonly onMove: (move: Move) => void
}

/** A version on the board, with its possible moves. */
export function VersionCard({ version, running, moves, onMove }: VersionCardProps) {
  const isWaiting = moves.some(({ blockedBy }) => blockedBy?.kind === 'pending')
  return (
    <article className={isWaiting ? `${classes.card} ${classes.cardWaiting}` : classes.card}>
      <div className={classes.cardHead}>
        <Link
          to="/definitions/$id"
          params={{ id: version.definition_id }}
          search={{ version: version.id }}
          className={classes.cardName}
        >
          {definitionStrings.version(version.version)}
        </Link>
        <span className={classes.hint}>{words.board.size(version.node_count)}</span>
      </div>
      <div className={classes.hint}>
        <RelativeTime at={version.created_at} /> {words.board.by(version.created_by)}
      </div>
      {running > 0 && <div className={classes.running}>{words.board.running(running)}</div>}
      {isWaiting && <div className={classes.hint}>{words.moves.waits}</div>}
      {!isWaiting && moves.length > 0 && (
        <div className={classes.moves} role="group" aria-label={words.board.actions(version.version)}>
          {moves.map((move) => (
            <MoveButton key={move.transition} move={move} onMove={onMove} />
          ))}
        </div>
      )}
    </article>
  )
}

/** A move that the role does not allow is shown with the role that it requires. */
function MoveButton({ move, onMove }: { readonly move: Move; readonly onMove: (move: Move) => void }) {
  const label = labelOf(move)
  if (move.blockedBy?.kind === 'role') {
    return (
      <span className={classes.hint}>
        {label}: {words.moves.needsRole(shell.roles[move.blockedBy.needs])}
      </span>
    )
  }
  return (
    <Button variant="default" size="compact-xs" onClick={() => onMove(move)}>
      {label}
    </Button>
  )
}

function labelOf({ transition, step }: Move): string {
  if (transition !== 'promote') return words.moves[transition]
  return step.kind === 'approval' ? words.moves.request(step.to) : words.moves.promote(step.to)
}
