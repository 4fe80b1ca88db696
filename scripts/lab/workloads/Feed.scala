package org.apache.spark.sql.execution.streaming.state

import java.sql.Timestamp

import scala.util.Random

/** A line `name key=value ...`: everything that was chosen for one workload. */
case class Chosen(line: String) {
  private val words = line.trim.split(" +").toSeq
  private val values = words.tail.map(_.split("=", 2)).map(pair => pair(0) -> pair(1)).toMap
  val name: String = words.head

  def get(key: String): Option[String] = values.get(key)
  def text(key: String, other: String): String = values.getOrElse(key, other)
  def long(key: String, other: Long): Long = get(key).map(_.toLong).getOrElse(other)
  def int(key: String, other: Int): Int = long(key, other).toInt
  def real(key: String, other: Double): Double = get(key).map(_.toDouble).getOrElse(other)
  def is(key: String, other: Boolean = false): Boolean = get(key).map(_.toBoolean).getOrElse(other)

  /** As it is in a run: from the second on, `later=delay:0,mode:update` counts. */
  def at(run: Int): Chosen =
    if (run == 0) this
    else Chosen(line.trim + get("later").toSeq.flatMap(_.split(',')).map(" " + _.replaceFirst(":", "=")).mkString)

  val op: String = text("op", "fm")
  val seed: Long = long("seed", 0)
  val tick: Long = long("tick", Timeline.TickMs)
  val delay: Long = long("delay", Timeline.WatermarkDelayMs)
  val twoSources: Boolean = is("two") || op.contains("join") || op == "plan"
  val restarts: Set[Int] = numbers("restarts")
  val quiet: Set[Int] = numbers("quiet") // ticks without rows

  /** Before which ticks the state is repartitioned, and into how many: `repart=4:7,9:3`. */
  val repartitions: Map[Int, Int] =
    get("repart").toSeq.flatMap(_.split(',')).map(_.split(':')).map(pair => pair(0).toInt -> pair(1).toInt).toMap

  private def numbers(key: String): Set[Int] = get(key).toSeq.flatMap(_.split(',')).map(_.toInt).toSet

  /** The kind of timeout of a run: `switchAt=1` has the other kind from run 1 on. */
  def timeout(run: Int): String = {
    val first = text("timeout", "none")
    if (run < int("switchAt", Int.MaxValue)) first else if (first == "event") "processing" else "event"
  }
}

/**
 * Random events and clock steps, a pure function of what was chosen. Each batch of rows goes one `step` further in
 * event time; the clock goes on by one to `jump` ticks, with rows or without.
 */
class Feed(chosen: Chosen) {
  private val random = new Random(chosen.seed * 7919 + 13)
  private val keys = chosen.int("keys", 40)
  private val step = chosen.long("step", Timeline.TickMs)
  private val whole = chosen.is("whole") // event times are whole seconds, so that equal ones meet
  private val unique = chosen.is("unique") // each row has an id of its own
  private var (steps, made) = (0, 0)

  def start: Long = Timeline.Base + chosen.long("ahead", 0)

  def advance(): Long = chosen.tick * (1 + random.nextInt(chosen.int("jump", 3)))

  /** The rows of both sources for the next tick; the first tick of a run always has some. */
  def next(tick: Int): (Seq[Ev], Seq[Ev]) =
    if (chosen.quiet(tick) || random.nextDouble() >= chosen.real("pdata", 0.8) && tick > 0 && !chosen.restarts(tick))
      (Nil, Nil)
    else {
      steps += 1
      val first = rows()
      val idle = chosen.is("idle") || tick >= chosen.int("idleFrom", Int.MaxValue)
      (first, if (!chosen.twoSources || idle) Nil else rows())
    }

  private def rows(): Seq[Ev] = Seq.fill(1 + random.nextInt(2 * chosen.int("perTick", 12)))(row())

  private def row(): Ev = {
    val hot = random.nextDouble() < chosen.real("hot", 0.2)
    made += 1
    val id = if (unique) made else if (hot) random.nextInt(math.min(3, keys)) else random.nextInt(keys)
    val now = Timeline.Base + steps * step + random.nextInt(step.toInt)
    val lag = random.nextDouble() match {
      case p if p < chosen.real("pLate", 0.1) => random.nextInt(3 * Timeline.WatermarkDelayMs.toInt)
      case p if p > 1 - chosen.real("pVery", 0.03) => 3600 * 1000
      case _ => 0
    }
    val time = if (whole) (now - lag) / 5000 * 5000 else now - lag
    Ev(id, odd(time), random.nextInt(100))
  }

  /** The time of a row, or of some percent of the rows none, one before 1970, or about the last that Spark can have. */
  private def odd(time: Long): Timestamp = {
    def hit(key: String) = chosen.get(key).exists(percent => random.nextInt(100) < percent.toInt)
    if (hit("pNull")) null
    else if (hit("pNeg")) new Timestamp(-1L - random.nextInt(100000))
    else if (hit("pMax")) new Timestamp(Long.MaxValue / 1000 - random.nextInt(1000))
    else if (hit("pFar")) new Timestamp(253402300799999L) // the end of the year 9999
    else if (hit("pEdge")) edge(time / 5000 * 5000)
    else new Timestamp(time)
  }

  /** A microsecond before the edge of a window, on it, or a microsecond behind. */
  private def edge(time: Long): Timestamp = {
    val micros = random.nextInt(3) - 1
    val at = new Timestamp(if (micros < 0) time - 1 else time)
    at.setNanos(Math.floorMod(micros, 1000000) * 1000)
    at
  }
}
