import { score as words } from '../../strings/everywhere/score.ts'
import { scoreTone } from './score-tone.ts'
import classes from './score.module.css'

/** A health score as a number and a short bar, for lists. */
export function ScoreBar({ score }: { readonly score: number }) {
  const tone = scoreTone(score)
  return (
    <span className={classes.score} title={words.title(score, words.tones[tone])}>
      <span className={`${classes.number} ${classes[tone]}`}>{score}</span>
      <span className={`${classes.bar} ${classes[tone]}`} aria-hidden="true">
        <span style={{ width: `${score}%` }} />
      </span>
    </span>
  )
}

const RING = { size: 88, width: 7 } as const

/** A health score as a ring, for the head of a page. */
export function ScoreRing({ score }: { readonly score: number }) {
  const tone = scoreTone(score)
  const radius = (RING.size - RING.width) / 2
  const length = 2 * Math.PI * radius
  const centre = RING.size / 2
  const circle = { cx: centre, cy: centre, r: radius, fill: 'none', strokeWidth: RING.width } as const
  return (
    <span className={`${classes.ring} ${classes[tone]}`} role="img" aria-label={words.title(score, words.tones[tone])}>
      <svg
        width={`${RING.size / 16}rem`}
        height={`${RING.size / 16}rem`}
        viewBox={`0 0 ${RING.size} ${RING.size}`}
        aria-hidden="true"
      >
        <circle {...circle} stroke="var(--lh-border)" />
        <circle
          {...circle}
          stroke="currentColor"
          strokeLinecap="butt"
          strokeDasharray={`${(length * score) / 100} ${length}`}
          transform={`rotate(-90 ${centre} ${centre})`}
        />
      </svg>
      <strong aria-hidden="true">{score}</strong>
      <small aria-hidden="true">{words.outOf}</small>
    </span>
  )
}
