package org.apache.spark.sql.execution.streaming.state

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths, StandardOpenOption}
import java.sql.Timestamp

import scala.util.hashing.MurmurHash3

import org.apache.spark.TaskContext
import org.apache.spark.sql.streaming.GroupState

/** The state of a key: rows seen, and a tag of the last update. */
case class Kept(n: Long, tag: String)

/**
 * What the query functions do, in letters. The first is about state: `U` updates, `R` removes, `N` nothing, `S` writes
 * the same state again, `X` updates then removes, `Y` removes then updates. A `T` after it sets a timer.
 * workloads/pandas_workloads.py has the same table.
 */
object Profile {
  private val Odd = Seq("U", "UT", "N", "NT", "R", "RT", "S", "ST", "X", "XT", "Y", "YT")
  private val Mostly = Seq("UT", "UT", "UT", "UT", "U", "R", "N") ++ Odd

  /** `fresh`: the key has no state yet. */
  def action(profile: String, timed: Boolean, fresh: Boolean, hash: Int): String = {
    def one(of: Seq[String]) = of(Math.floorMod(hash, of.size))
    (profile, timed) match {
      case ("mixed", _) => one(Mostly)
      case ("rare", _) if Math.floorMod(hash, 23) == 0 => one(Odd)
      case ("datamix", false) => one(Mostly)
      case ("lapse", false) => one(Seq("UT", "UT", "U", "S", "N", "NT"))
      case ("lapseN", false) => one(Seq("UT", "UT", "U", "N", "N", "R"))
      case ("once", false) => if (fresh) "UT" else "U"
      case ("arm", true) => one(Seq("UT", "UT", "NT", "RT", "ST"))
      case ("keep", true) => one(Seq("U", "S", "U", "Y"))
      case ("ignore", true) => "N"
      case (_, true) => "R"
      case _ => "UT"
    }
  }
}

/**
 * How a function chooses and where it logs; `op` is -1 if the query has one operator with a function. Of `huge` percent
 * of the timers of processing time the duration is the largest there is, which overflows; of `big` percent of the calls
 * the state is one of two megabytes. A copy to which batches were appended counts them `shift` higher than its twin.
 */
case class Role(run: Int, op: Int, timeout: String, profile: String, seed: Long, patience: Long, fixed: Option[Long],
    tick: Long, failInBatch: Long, retryInBatch: Long, huge: Int, big: Int, calls: String, shift: Long)

/** The query function: does what the profile says for (seed, key, batch, timed) and logs it. */
class Actor[K](role: Role, kind: KeyKind[K]) extends Serializable {
  @transient private lazy val hex = ThreadLocal.withInitial[K => String](() => kind.hex)

  def apply(key: K, events: Iterator[Ev], state: GroupState[Kept]): Iterator[Ev] = {
    val rows = events.toSeq
    val task = TaskContext.get()
    val batch = task.getLocalProperty("streaming.sql.batchId").toLong - role.shift
    val name = hex.get()(key)
    val hash = MurmurHash3.stringHash(s"${role.seed}/${role.op}/$name/$batch/${state.hasTimedOut}")
    val fails = batch == role.failInBatch || batch == role.retryInBatch && task.attemptNumber() == 0
    if (fails && hash % 3 == 0) throw new IllegalStateException(s"a failure wanted in batch $batch")
    val letters = Profile.action(role.profile, state.hasTimedOut, !state.exists, hash >>> 1)
    val action = if (role.timeout == "none") letters.take(1) else letters
    val was = state.getOption
    val filler = if (Math.floorMod(hash, 100) < role.big) "\u4e2d" * 700000 else ""
    act(action.head, was, state, rows.size, s"t${(hash >>> 8) % 5}$filler")
    val timer = if (action.endsWith("T")) arm(state, rows, hash >>> 4) else -1L
    log(task, batch, name, action, timer, was, state, rows.size)
    val time = rows.map(_.ts).filter(_ != null).sortBy(_.getTime).lastOption.getOrElse(new Timestamp(clock(state)))
    Iterator(Ev(rows.headOption.map(_.id).getOrElse(Math.floorMod(hash, 10)), time, rows.size))
  }

  private def act(letter: Char, was: Option[Kept], state: GroupState[Kept], rows: Int, tag: String): Unit = {
    def update() = state.update(Kept(was.map(_.n).getOrElse(0L) + math.max(rows, 1), tag))
    letter match {
      case 'U' => update()
      case 'S' => if (was.isDefined) state.update(was.get) else update()
      case 'R' => state.remove()
      case 'X' => update(); state.remove()
      case 'Y' => state.remove(); update()
      case 'N' => ()
    }
  }

  private def watermark(state: GroupState[Kept]): Long =
    try state.getCurrentWatermarkMs() catch { case _: UnsupportedOperationException => -2L }

  private def clock(state: GroupState[Kept]): Long =
    if (role.timeout == "event") math.max(watermark(state), Timeline.Base) else state.getCurrentProcessingTimeMs()

  private def arm(state: GroupState[Kept], rows: Seq[Ev], hash: Int): Long = {
    val near = role.fixed.getOrElse(1 + Math.floorMod(hash, (role.patience * role.tick * 2).toInt).toLong)
    val some = if (role.timeout == "processing" && Math.floorMod(hash, 100) < role.huge) Long.MaxValue else near
    if (role.timeout == "processing") {
      state.setTimeoutDuration(some)
      state.getCurrentProcessingTimeMs() + some
    } else {
      val newest = (rows.map(_.ts).filter(_ != null).map(_.getTime) :+ clock(state)).max
      val time = math.max(newest + some, watermark(state) + 1)
      state.setTimeoutTimestamp(time)
      time
    }
  }

  private def log(task: TaskContext, batch: Long, key: String, action: String, timer: Long, was: Option[Kept],
      state: GroupState[Kept], rows: Int): Unit = {
    def shown(kept: Option[Kept], none: String) = kept.map(k => s""""${k.n}|${k.tag.take(9)}"""").getOrElse(none)
    val outcome = action.head match { case 'X' => 'R'; case 'Y' | 'S' => 'U'; case other => other }
    val line = s"""{"run":${role.run},"op":${role.op},"b":$batch,"p":${task.partitionId()},"k":"$key",""" +
      s""""att":${task.stageId() * 100 + task.attemptNumber()},"timed":${state.hasTimedOut},"act":"$action","o":"$outcome","set":$timer,"wm":${watermark(state)},""" +
      s""""pt":${state.getCurrentProcessingTimeMs()},"n":$rows,"was":${shown(was, "null")},""" +
      s""""st":${shown(state.getOption, "\"-\"")}}\n"""
    val file = Paths.get(role.calls, f"${role.run}%02d-${role.op + 1}-${task.partitionId()}.jsonl")
    Files.write(file, line.getBytes(UTF_8), StandardOpenOption.CREATE, StandardOpenOption.APPEND)
  }
}
