package org.apache.spark.sql.execution.streaming.state

import java.sql.Timestamp

import scala.util.hashing.MurmurHash3

import org.apache.spark.sql.{DataFrame, Encoders}
import org.apache.spark.sql.functions.{coalesce, col}
//#if >=4.0
import org.apache.spark.sql.streaming._
//#end
import org.apache.spark.sql.types.MetadataBuilder

/**
 * A node of a plan such as `fm.u(tws.one|dedup.second)`, what is nearest the sink first. `op` is the id that Spark
 * gives it, which counts from the sink, and -1 where it has no state.
 */
case class Node(name: String, op: Int, inputs: Seq[Node]) {
  // For Python
  def input(at: Int): Node = inputs(at)
  def size: Int = inputs.size
}

object Node {
  private val Stateless = Set("one", "second", "two", "nowm", "meta", "u", "wm")

  def parse(plan: String): Node = new Parser(plan).node()

  private class Parser(plan: String) {
    private var (at, stateful) = (0, 0)

    def node(): Node = {
      val name = plan.drop(at).takeWhile(_.isLetterOrDigit)
      at += name.length
      val op = if (Stateless(name)) -1 else { stateful += 1; stateful - 1 }
      Node(name, op, mark match {
        case '.' => at += 1; Seq(node())
        case '(' =>
          val inputs = Seq.newBuilder[Node]
          while (mark != ')') { at += 1; inputs += node() }
          at += 1
          inputs.result()
        case _ => Nil
      })
    }

    private def mark = plan.lift(at).getOrElse(' ')
  }
}

/** What the rows of a plan have between its nodes: id, ts, v. */
object Stages {
  private val Words = Seq("v=", "v=", "v-", "l+", "l+", "l=", "l-", "m=a", "m=b", "m=c", "m-a", "m-", "V=", "V=", "V-",
    "L+", "L+", "L=", "L-", "M=a", "M=b", "M=c", "M-a", "M-", "t+5", "t+20", "t+40", "t+-15", "t-")
  private val Users = Seq("once", "once", "tidy", "again", "cancel")

  /** What a row says to the processor of transformWithState; python_stages.py has the same words. */
  def event(seed: Long)(row: Ev): Event = {
    val time = Option(row.ts).getOrElse(new Timestamp(0))
    def word(n: Int) = Words(Math.floorMod(MurmurHash3.stringHash(s"$seed/${row.id}/${time.getTime}/$n"), Words.size))
    Event(s"${Users(Math.floorMod(row.id, Users.size))}-${row.id}", time, row.v, (0 to 3).map(word).mkString(" "))
  }

  /** The rows, their time as if a watermark had been on it: its metadata without the node of a plan. */
  def marked(rows: DataFrame, delayMs: Long): DataFrame = {
    val metadata = new MetadataBuilder().putLong("spark.watermarkDelayMs", delayMs).build()
    rows.select(col("id"), col("ts").as("ts", metadata), col("v"))
  }

  /** transformWithState, whose processor logs into a folder of its own; `emits` is what becomes of the time. */
  def processed(rows: DataFrame, chosen: Chosen, run: Int, op: Int, log: String): DataFrame =
//#if >=4.0
  {
    implicit val events: org.apache.spark.sql.Encoder[Ev] = Encoders.product[Ev]
    val time = chosen.text(s"timeMode$op", "processing")
    val (emits, seed) = (chosen.text("emit", "plain"), chosen.seed)
    val declares = chosen.text("declares", "always") match {
      case "always" => true
      case "first" | "deletes" => run == 0
      case "later" => run > 0
      case "inTurns" => run % 2 == 0
    }
    val deletes = run > 0 && chosen.get("declares").contains("deletes")
    val ttl = chosen.at(run).long("ttl", Scripted.TtlMs)
    val processor = new Emitting(Scripted(time, log, declares, deletes, ttl), event(seed), emits == "column")
    val grouped = rows.as[Ev].groupByKey((row: Ev) => event(seed)(row).user)(Encoders.STRING)
    val initial = chosen.int("initial", 0)
    if (emits == "column") grouped.transformWithState(processor, "ts", OutputMode.Append()).toDF()
    else {
      val mode = time match {
        case "event" => TimeMode.EventTime()
        case "processing" => TimeMode.ProcessingTime()
        case "none" => TimeMode.None()
      }
      val out =
        if (initial == 0) grouped.transformWithState(processor, mode, OutputMode.Append()).toDF()
        else {
          val users = (0 until initial).map(id => event(seed)(Ev(id, new Timestamp(Timeline.Base), id)).user -> id.toLong)
          val kept = rows.sparkSession.createDataset(users)(Encoders.tuple(Encoders.STRING, Encoders.scalaLong))
          val first = kept.groupByKey((pair: (String, Long)) => pair._1)(Encoders.STRING)
            .mapValues((pair: (String, Long)) => pair._2)(Encoders.scalaLong)
          grouped.transformWithState(processor, mode, OutputMode.Append(), first)(events, Encoders.scalaLong).toDF()
        }
      if (emits == "meta") marked(out, chosen.delay) else out
    }
  }
//#else
    throw new UnsupportedOperationException("transformWithState came with 4.0")
//#end

  /** The offline repartitioning of a checkpoint whose query has stopped. */
  def repartition(spark: ThisSpark.Session, checkpoint: String, partitions: Int): Unit =
//#if >=4.2
    spark.streamingCheckpointManager.repartition(checkpoint, partitions, true)
//#else
    throw new UnsupportedOperationException("repartitioning came with 4.2")
//#end
}

//#if >=4.0
/** A processor of the fixtures whose rows go on: of each call one, with the newest time of its rows or the timer's. */
class Emitting(inner: Scripted, event: Ev => Event, watermarked: Boolean)
    extends StatefulProcessorWithInitialState[String, Ev, Ev, Long] {
  override def init(mode: OutputMode, timeMode: TimeMode): Unit = {
    inner.setHandle(getHandle)
    inner.init(mode, timeMode)
  }

  override def handleInputRows(user: String, rows: Iterator[Ev], now: TimerValues): Iterator[Ev] = {
    val all = rows.toSeq
    inner.handleInputRows(user, all.iterator.map(event), now).size
    val times = all.map(_.ts).filter(_ != null)
    Iterator(Ev(all.head.id, emitted(if (times.isEmpty) null else times.maxBy(_.getTime), now), all.size))
  }

  /** Of a key that begins with a state: a value in each variable, and a timer. */
  override def handleInitialState(user: String, value: Long, now: TimerValues): Unit =
    inner.handleInputRows(user, Iterator(Event(user, new Timestamp(Timeline.Base), value,
      "v= l+ l+ m=a m=b V= L+ M=a M=b t+20")), now).size

  override def handleExpiredTimer(user: String, now: TimerValues, timer: ExpiredTimerInfo): Iterator[Ev] = {
    inner.handleExpiredTimer(user, now, timer).size
    Iterator(Ev(user.dropWhile(_ != '-').drop(1).toInt, emitted(new Timestamp(timer.getExpiryTimeInMs()), now), 0))
  }

  /** Spark refuses a column of event time that is null or older than the watermark. */
  private def emitted(time: Timestamp, now: TimerValues): Timestamp =
    if (!watermarked) time
    else new Timestamp(math.max(if (time == null) 0 else time.getTime, now.getCurrentWatermarkInMs() + 1))
}
//#end
